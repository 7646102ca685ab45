"""Every rule there is, and the kind of change it asks for: what the docs and other tools list."""

from __future__ import annotations

from compilescope.advice import break_words, custom_ops, failure_words, recompile_words

_OTHERS = {
    "recompile_limit_hit": "see_guard",
    "compiled_while_waiting": "call_once_first",
    "shared_wrapper": "decorator_above_compile",
    "guard_overhead": "fewer_guarded_objects",
    "same_block_compiled_many_times": "regional_compilation",
    "cache_key_unstable_constant": "constant_to_tensor_input",
    "compiled_autograd_recapture": "zero_grad_in_place",
    "cudagraph_skipped": "avoid_input_mutation",
    "cudagraph_rerecorded": "mark_dynamic_or_pad",
    "autotuned_at_other_size": "pad_to_buckets",
    "candidates_compiled_twice": "same_assembler",
    "bucket_refused": "fix_or_drop_rung",
    "bucket_never_hit": "refit_ladder",
    "bucket_traffic_outside": "refit_ladder",
    "bucket_does_not_pay": "refit_ladder",
}


def catalog() -> dict[str, str]:
    """Rule -> fix_kind. A fullgraph violation takes that of what breaks the graph, a skipped CUDA graph that
    of torch's reason.
    """
    return {
        **{rule: words.fix_kind for rule, words in break_words.WORDS.items()},
        **{rule: words.fix_kind for rule, words in recompile_words.WORDS.items()},
        **{rule: words.fix_kind for rule, words in failure_words.WORDS.items()},
        **{rule: words.fix_kind for rule, words in custom_ops.WORDS.items()},
        **_OTHERS,
    }
