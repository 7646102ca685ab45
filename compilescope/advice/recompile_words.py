"""What to do about a recompile, by its cause. A slug is a rule and the name of its page in the docs.

``{source}`` is the guarded expression, ``{changes}`` its values, ``{function}`` the function.
"""

from __future__ import annotations

from dataclasses import dataclass

_SYMBOLIC = (
    "torch makes a number or size symbolic after its first change, so more of the same may cost nothing"
)
_TWO = "when both versions are used often, two graphs are right and nothing needs changing"


@dataclass(frozen=True, slots=True)
class RecompileWords:
    fix_kind: str
    summary: str
    fix: str
    wrong: str


WORDS = {
    "module_int_attribute": RecompileWords(
        "number_to_tensor_buffer",
        "{source} is a Python number that changes between calls, and its value is compiled in",
        'make it data: self.register_buffer("{name}", torch.zeros(())), and tensor operations on it',
        "if the number only logs or counts, move it out of the compiled method instead",
    ),
    "module_float_attribute": RecompileWords(
        "number_to_tensor_buffer",
        "{source} is a Python float that changes between calls, and its value is compiled in",
        'make it data: self.register_buffer("{name}", torch.tensor(...)) and update it in place with fill_()',
        _SYMBOLIC,
    ),
    "per_layer_attribute": RecompileWords(
        "hoist_or_pass_as_tensor",
        "{source} differs from layer to layer, and each value compiles the shared code again",
        "choose by {source} in __init__ (store the result), or read it as a tensor",
        "few layers of a few kinds are worth a graph each",
    ),
    "module_flag_attribute": RecompileWords(
        "split_or_accept",
        "{source} is a flag on the module that changes between calls",
        "set it once before compiling, or keep one compiled function per value",
        _TWO,
    ),
    "float_hyperparameter_python": RecompileWords(
        "number_to_tensor",
        "{source} is a Python float that changes between calls",
        "pass it as a 0-dim tensor (torch.tensor(...)), and use torch.where where code branches on it",
        _SYMBOLIC,
    ),
    "optimizer_lr_float": RecompileWords(
        "tensor_lr",
        "a scheduler changes the compiled optimizer's learning rate, a Python float",
        "give the optimizer a tensor: lr=torch.tensor(...), and capturable=True on a GPU",
        _SYMBOLIC,
    ),
    "int_argument_variants": RecompileWords(
        "pass_as_tensor",
        "the int {source} changes between calls",
        "pass it as a tensor, or compile with dynamic=True, which makes int arguments symbolic at once",
        _SYMBOLIC,
    ),
    "object_int_attribute": RecompileWords(
        "number_to_tensor",
        "{source} is a Python number on an object, and its value is compiled in",
        "keep it in a 0-dim tensor, or pass it as an argument, where it becomes symbolic",
        _SYMBOLIC,
    ),
    "string_argument_variants": RecompileWords(
        "pass_as_tensor",
        "the string {source} selects another graph for each value",
        "turn it into a number outside and pass a tensor; or compile one function per value",
        "raising the recompile limit is right only when the values are few and each is used often",
    ),
    "flag_argument_variants": RecompileWords(
        "split_or_accept",
        "{source} is a flag that changes between calls",
        "accept one graph per value, or choose outside the compiled function",
        _TWO,
    ),
    "optional_argument": RecompileWords(
        "always_pass_a_tensor",
        "{source} is None in some calls only",
        "always pass a tensor (zeros, or a mask that lets everything through)",
        _TWO,
    ),
    "closure_capture_changes": RecompileWords(
        "hoist_or_pass_as_tensor",
        "the captured variable {source} changes, and its value is compiled in",
        "resolve it outside the compiled function, and close over a tensor or pass it as an argument",
        "making the lambda anew is harmless by itself: the captured value is what is guarded",
    ),
    "global_python_state": RecompileWords(
        "pass_as_tensor",
        "the global {source} changes between calls, and globals are always compiled in as constants",
        "pass it to the compiled function as a 0-dim tensor argument",
        "a global that is set once, after the first call, recompiles once and never again",
    ),
    "number_in_container": RecompileWords(
        "pass_as_tensor",
        "the number {source} in a container changes between calls",
        "keep numbers that change in a tensor and pass that",
        _SYMBOLIC,
    ),
    "function_identity_changes": RecompileWords(
        "hoist_or_pass_as_tensor",
        "another function is passed as {source}",
        "create the function once outside the loop; or compile one function per variant",
        _TWO,
    ),
    "object_identity_changes": RecompileWords(
        "hoist_or_pass_as_tensor",
        "another object is used as {source}",
        "create the object once and change its tensors in place",
        _TWO,
    ),
    "aliased_arguments": RecompileWords(
        "clone_at_boundary",
        "{source} are the same tensor in some calls only",
        "pass clones, or always the same combination",
        _TWO,
    ),
    "type_change": RecompileWords(
        "cast_at_boundary",
        "{source} has another type in some calls",
        "convert it to one type before the call",
        _TWO,
    ),
    "container_growth": RecompileWords(
        "fixed_size_buffer",
        "{source} {moves} between calls, and each length compiles again",
        "keep a preallocated tensor of fixed size and write into it (a ring buffer for a history)",
        "a container whose length settles early costs only its first compiles",
    ),
    "dict_keys_change": RecompileWords(
        "fixed_keys",
        "the keys of {subject} change between calls",
        "always pass the same keys; fill the missing ones with zeros",
        _TWO,
    ),
    "kv_cache_growth": RecompileWords(
        "static_cache_tensor_position",
        "the cache grows by one position a call, and the position is a Python number",
        "preallocate the cache at full length, write with index_copy_ at a tensor position, mask the rest",
        "fixing only one of the two leaves the recompiles; a full-length cache computes over padding",
    ),
    "last_partial_batch": RecompileWords(
        "mark_dynamic_or_drop_last",
        "the last batch is smaller: one recompile, then the size is dynamic",
        "nothing, or torch._dynamo.mark_dynamic(x, 0) before the first call, or drop_last=True",
        "the dynamic graph may be slower than two static ones",
    ),
    "size_drift": RecompileWords(
        "mark_dynamic_or_pad",
        "{source} takes other sizes",
        "mark that dim with torch._dynamo.mark_dynamic before the first call, or pad to a few sizes",
        "time is the aim: padding computes rows that are thrown away, and a dynamic graph may be slower",
    ),
    "size_used_as_number": RecompileWords(
        "keep_size_out_of_graph",
        "the code needs {source} as a Python number here, so each size compiles again",
        "compute what hangs on the number outside the compiled function and pass it in as a tensor, or "
        "compute it with tensors (torch.arange, a mask); few sizes: pad to them, call each once first",
        "mark_dynamic and dynamic=True do not help: the line fixes the size again, and a marked one is an "
        "error; sizes that are few and come often may keep a graph each",
    ),
    "bucket_ladder_poor_fit": RecompileWords(
        "refit_ladder",
        "{source} comes in doubling sizes: a ladder whose rungs may lie far above the traffic",
        "place the rungs just above the sizes that occur; the ladder planner does it from traffic",
        "the sizes before padding are not recorded: if they lie just below the rungs, the ladder fits",
    ),
    "intended_size_variants": RecompileWords(
        "accept_or_warm_up",
        "{source} comes in {number} sizes, and each has a graph of its own that is used again",
        "nothing if these are the rungs of a ladder; call each size once before serving",
        "if sizes keep coming that were not seen yet, it is drift, and each costs a compile",
    ),
    "size_zero_or_one": RecompileWords(
        "avoid_sizes_zero_and_one",
        "{source} is 0 or 1 in some calls, which torch always compiles apart",
        "pad to at least 2, skip empty inputs, or accept the extra graph",
        "dynamic=True does not help: sizes 0 and 1 are specialized even then",
    ),
    "per_layer_parameter_shapes": RecompileWords(
        "compile_each_shape",
        "layers of different sizes share one compiled function: {source} differs",
        "compile the model that holds the layers, so that all are in one graph",
        "torch's hint force_parameter_static_shapes makes the sizes dynamic only where the code allows it",
    ),
    "memory_format_change": RecompileWords(
        "normalise_at_boundary",
        "{subject} arrives in two memory layouts ({meaning})",
        "bring it to one layout before the call: .contiguous(), for images with memory_format=...",
        "the copy costs time on every call; if both layouts are common, two graphs may be right",
    ),
    "rank_change": RecompileWords(
        "normalise_at_boundary",
        "{source} has another number of dims in some calls",
        "unsqueeze or flatten it to one rank before the call",
        _TWO,
    ),
    "dtype_change": RecompileWords(
        "cast_at_boundary",
        "{source} arrives in several dtypes",
        "cast once where data enters, to the dtype that was warmed up",
        "a cast may lose precision that one caller needs",
    ),
    "device_change": RecompileWords(
        "move_to_one_device", "{source} is on another device in some calls", "move it before the call", _TWO
    ),
    "requires_grad_change": RecompileWords(
        "one_grad_mode_or_accept",
        "{source} requires grad in some calls only",
        "set requires_grad once, or detach before the call",
        _TWO,
    ),
    "grad_mode_toggle": RecompileWords(
        "one_grad_mode_or_accept",
        "it is called under different grad modes",
        "one mode for all calls that do not train (no_grad or inference_mode), or keep grad and detach",
        _TWO,
    ),
    "autocast_toggle": RecompileWords(
        "same_autocast_everywhere",
        "it is called with and without autocast",
        "call it under the same autocast everywhere, validation included",
        _TWO,
    ),
    "train_eval_toggle": RecompileWords(
        "expected_or_eager_eval",
        "train() and eval() alternate: one graph for each is right, going back costs nothing",
        'nothing; for a short validation torch.compiler.set_stance("force_eager") saves the second compile',
        "if each switch compiles again, something else changes with it",
    ),
    "backend_or_options_change": RecompileWords(
        "one_compile_call",
        "the same code is compiled with other options",
        "call torch.compile once and share the result",
        _TWO,
    ),
    "branch_on_size": RecompileWords(
        "accept_or_pad",
        "a branch or condition on {source} goes the other way for some sizes",
        "accept one graph per side, or choose the side outside the compiled function",
        _TWO,
    ),
    "size_bound_of_torch": RecompileWords(
        "accept_or_pad",
        "torch's own code, not a branch of the program, sets a bound on {source}: {bound}",
        "nothing: each side of the bound keeps its graph; before serving call it once with a size of each "
        "side, or pad to sizes of one side",
        "an operator, or Inductor's choice of code for the line, has the bound; other sizes may meet another",
    ),
    "equal_sizes_assumed": RecompileWords(
        "mark_dynamic_or_pad",
        "two sizes were equal at first, so torch took them for one: {source}",
        "mark both dims with torch._dynamo.mark_dynamic before the first call, and make that with two sizes",
        "sizes that are always equal in real use were different only in this run",
    ),
    "mark_dynamic_differs": RecompileWords(
        "mark_before_first_call",
        "a dynamic mark on {source} came after the first compile, or differs between calls",
        "mark before the first call, and the same on every call",
        "the marks may differ on purpose, for one graph each",
    ),
    "storage_offset_change": RecompileWords(
        "normalise_at_boundary",
        "{source} starts at another offset or alignment in some calls",
        "clone slices where data enters",
        _TWO,
    ),
    "dispatch_mode_change": RecompileWords(
        "one_mode_everywhere",
        "{source} is used in another mode",
        "create and use it under the same mode: a tensor made in inference_mode stays an inference tensor",
        _TWO,
    ),
    "global_state_change": RecompileWords(
        "set_before_first_call",
        "a global setting of torch changes between calls: {source}",
        "set it once before the first call",
        "a library may change the setting and put it back: then only the order of calls can be changed",
    ),
    "thread_mixed_modes": RecompileWords(
        "one_mode_and_dynamic_dim",
        "threads share it under different modes or sizes, and each combination compiles again",
        "use the same grad mode in every thread, and mark_dynamic the dim whose size differs",
        _TWO,
    ),
    "rank_divergent_shapes": RecompileWords(
        "pad_to_common_shape",
        "some ranks compile again while the others wait for them in their collectives",
        "pad to the same shape on every rank, or mark the dim dynamic on all of them",
        "the waiting rank is not the guilty one: its time shows in the collective",
    ),
    "unexplained_recompile": RecompileWords(
        "see_guard",
        "{source} differed from what was compiled",
        "make it the same on every call",
        "the cause is unknown: neither torch's message nor the guards that were checked again name it",
    ),
}
