from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from report_rows import failure, frame, limit_hit, recompile

from compilescope.advice import advise
from compilescope.analysis.report import GuardChange, ProcessInfo, Report
from compilescope.analysis.wrappers import SEVERAL

MakeReport = Callable[..., Report]

LAYERS = """from torch import nn

class Layer(nn.Module):
    def __init__(self, index):
        super().__init__()
        self.index = index

    def forward(self, x):
        return x * self.index
"""
COUNTS = LAYERS.replace("return x", "self.index += 1\n        return x")


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"holder": "closure", "source": "label"}, "closure_capture_changes"),
        ({"holder": "global", "source": "STEP"}, "global_python_state"),
        ({"value_type": "str"}, "string_argument_variants"),
        ({"value_type": "float"}, "float_hyperparameter_python"),
        ({"value_type": "bool"}, "flag_argument_variants"),
        ({"value_type": None, "changes": [(None, "Tensor")]}, "optional_argument"),
        ({"holder": "container_item"}, "number_in_container"),
        ({"holder": "object_attribute"}, "object_int_attribute"),
        (
            {"holder": "module_attribute", "source": "self.rate", "value_type": "float"},
            "module_float_attribute",
        ),
        ({"holder": "module_attribute", "source": "self.on", "value_type": "bool"}, "module_flag_attribute"),
        ({"source": "self.param_groups[0]['lr']", "value_type": "float"}, "optimizer_lr_float"),
        ({"kind": "container_length", "source": "len(history)"}, "container_growth"),
        ({"kind": "dict_keys", "source": "keys of d"}, "dict_keys_change"),
        ({"kind": "size", "source": "x dim 0"}, "size_drift"),
        ({"kind": "size", "source": "x dim 0", "benign": True}, "last_partial_batch"),
        (
            {"kind": "size", "source": "self.weight dim 0", "holder": "module_attribute"},
            "per_layer_parameter_shapes",
        ),
        ({"kind": "size_one", "source": "x dim 0"}, "size_zero_or_one"),
        ({"kind": "stride", "source": "x stride dim 1"}, "memory_format_change"),
        ({"kind": "rank", "source": "x"}, "rank_change"),
        ({"kind": "dtype", "source": "x"}, "dtype_change"),
        ({"kind": "dtype", "source": "default dtype", "holder": None}, "global_state_change"),
        ({"kind": "device", "source": "x"}, "device_change"),
        ({"kind": "requires_grad", "source": "x"}, "requires_grad_change"),
        ({"kind": "grad_mode", "source": "grad mode", "holder": None}, "grad_mode_toggle"),
        ({"kind": "autocast", "source": "autocast(cuda) enabled", "holder": None}, "autocast_toggle"),
        ({"kind": "training_mode", "source": "m.training"}, "train_eval_toggle"),
        ({"kind": "backend", "source": "backend of torch.compile"}, "backend_or_options_change"),
        ({"kind": "code", "source": "f"}, "function_identity_changes"),
        ({"kind": "identity", "source": "x and y"}, "aliased_arguments"),
        ({"kind": "identity", "source": "m", "changes": [("Linear", "Linear")]}, "object_identity_changes"),
        ({"kind": "type", "source": "x"}, "type_change"),
        ({"kind": "symbolic_guard", "source": "x dim 0"}, "branch_on_size"),
        ({"kind": "duck_shape", "source": "x dim 0 = y dim 0"}, "equal_sizes_assumed"),
        ({"kind": "constraint", "source": "x dynamic marks"}, "mark_dynamic_differs"),
        ({"kind": "alignment", "source": "x"}, "storage_offset_change"),
        ({"kind": "dispatch_keys", "source": "x"}, "dispatch_mode_change"),
        (
            {"kind": "dispatch_keys", "source": "x", "meaning": "inside torch.inference_mode()"},
            "grad_mode_toggle",
        ),
        ({"kind": "other", "source": "x.strange"}, "unexplained_recompile"),
    ],
)
def test_each_kind_has_its_rule(report: MakeReport, fields: dict[str, Any], rule: str) -> None:
    assert [f.rule for f in advise(report(recompiles=[recompile(**fields)]))] == [rule]


def test_a_number_that_only_init_sets_is_per_layer_and_one_that_forward_bumps_is_a_counter(
    report: MakeReport,
) -> None:
    row = recompile(source="self.index", holder="module_attribute", line=9)
    rows = report(recompiles=[row])
    assert advise(rows, {"train.py": LAYERS})[0].rule == "per_layer_attribute"
    assert advise(rows, {"train.py": COUNTS})[0].rule == "module_int_attribute"
    set_outside = LAYERS + "\nfor layer in layers:\n    layer.index = 3\n"
    assert advise(rows, {"train.py": set_outside})[0].rule == "module_int_attribute"
    assert advise(rows)[0].rule == "module_int_attribute"


def test_behind_a_break_self_is_still_a_module(report: MakeReport) -> None:
    row = recompile(source="self.index", holder="object_attribute", line=9)
    assert advise(report(recompiles=[row]), {"train.py": COUNTS})[0].rule == "module_int_attribute"


def test_a_branch_on_a_changing_number_is_the_numbers_cause(report: MakeReport) -> None:
    rows = [
        recompile("symbolic_guard", "cfg.lr", holder="object_attribute", compile_ids=["0/2"]),
        recompile(source="cfg.lr", holder="object_attribute", value_type="float"),
    ]
    (found,) = advise(report(recompiles=rows))
    assert (found.rule, found.cost["recompiles"].value) == ("float_hyperparameter_python", 2)


def test_two_causes_in_one_compile_share_its_seconds(report: MakeReport) -> None:
    """Time is counted once, and each says that the other has to go too."""
    also = [GuardChange("mode", "a", "b")]
    ids = ["0/1", "0/2"]
    long = recompile("container_length", "len(history)", compile_ids=ids, count=2, wasted_compile_s=4.0)
    rows = [
        replace(long, also_failed=also),
        recompile("container_length", "len(stats)", compile_ids=["0/2"], wasted_compile_s=2.0),
    ]
    (found,) = advise(report(recompiles=rows))
    assert (found.cost["compile_s"].value, found.cost["recompiles"].value) == (4.0, 2)
    assert any("fixing one alone" in note for note in found.evidence.notes)


def test_the_limit_belongs_to_the_cause_that_changed_most(report: MakeReport) -> None:
    counter = recompile(source="n", count=7, blocked_by_limit=1, compile_ids=[f"0/{n}" for n in range(1, 9)])
    mode = recompile(source="mode", value_type="str", compile_ids=["0/4", "0/8"], blocked_by_limit=1)
    limit = limit_hit(last_cause=GuardChange("mode", "a", "b"))
    first, second = advise(report(recompiles=[mode, counter], limit_hits=[limit], settled=False))
    assert (first.evidence.changes[0].split()[0], first.severity, second.severity) == (
        "n",
        "critical",
        "high",
    )
    assert any("torch's own warning blames mode" in note for note in first.evidence.notes)
    assert first.saving is not None
    assert first.saving.per_1000_steps_s is None


def test_the_limit_goes_to_who_used_it_up_not_to_the_last_guard_that_failed(report: MakeReport) -> None:
    """A log names one guard an entry: the counter filled seven entries, the mode happened to fail last."""
    counter = recompile(source="n", count=6, compile_ids=[f"0/{n}" for n in range(1, 7)])
    mode = recompile(source="mode", value_type="str", compile_ids=["0/7", "0/8"], blocked_by_limit=1)
    first, second = advise(report(recompiles=[mode, counter], limit_hits=[limit_hit()], settled=False))
    assert (first.evidence.changes[0].split()[0], first.severity) == ("n", "critical")
    assert second.refs == ("recompiles[0]",)


def test_unknown_eager_calls_are_not_zero(report: MakeReport) -> None:
    rows = report(recompiles=[recompile(blocked_by_limit=1)], limit_hits=[limit_hit(eager_calls=None)])
    (found,) = advise(rows)
    assert ("eager_calls" in found.cost, found.severity) == (False, "critical")


def test_the_limit_under_fullgraph_is_an_error_of_the_same_cause(report: MakeReport) -> None:
    row = recompile(value_type="str", source="mode", blocked_by_limit=1, count=7)
    raised = failure(exception="FailOnRecompileLimitHit", message="recompile_limit reached")
    (found,) = advise(report(recompiles=[row], failures=[raised]))
    assert (found.rule, found.severity) == ("string_argument_variants", "critical")


def test_a_limit_without_a_cause_is_still_told(report: MakeReport) -> None:
    (found,) = advise(report(limit_hits=[limit_hit()]))
    assert (found.rule, found.severity, found.executions) == ("recompile_limit_hit", "critical", 40)


@pytest.mark.parametrize("kind", ["size", "value", "training_mode", "grad_mode", "autocast"])
def test_one_recompile_that_settles_by_itself_is_a_note(report: MakeReport, kind: str) -> None:
    assert (
        advise(report(recompiles=[recompile(kind, "x dim 0" if kind == "size" else "n")]))[0].severity
        == "note"
    )


def test_one_recompile_on_each_of_eight_ranks_is_one_recompile(report: MakeReport) -> None:
    """Ranks run side by side: neither their recompiles nor their seconds add up."""
    ranks = [ProcessInfo(f"p{n}", n, n, 8, "2.13", "3.11", "CPU") for n in range(8)]
    rows = [recompile("size", "x dim 0", process=f"p{n}", wasted_compile_s=40.0 + n) for n in range(8)]
    (found,) = advise(report(processes=ranks, recompiles=rows, wall_s=10_000.0))
    assert found.severity == "note"
    assert found.cost["recompiles"].value == 8
    assert found.saving is not None
    assert found.saving.seconds == 47.0
    assert "slowest process" in found.saving.basis


def test_time_makes_a_rare_recompile_matter(report: MakeReport) -> None:
    """Two recompiles of 150 s are no detail, though two is a small number."""
    rows = [recompile("dtype", "x", count=2, compile_ids=["0/1", "0/2"], wasted_compile_s=300.0)]
    assert advise(report(recompiles=rows, wall_s=1000.0))[0].severity == "high"
    assert advise(report(recompiles=rows, wall_s=100_000.0))[0].severity == "low"


def test_validation_switches_train_mode_and_grad_mode_at_once_and_is_one_finding(report: MakeReport) -> None:
    rows = [recompile("training_mode", "m.training"), recompile("grad_mode", "grad mode", holder=None)]
    (found,) = advise(report(recompiles=rows))
    assert (found.rule, found.severity) == ("train_eval_toggle", "note")


def test_doubling_sizes_are_a_ladder_and_others_are_variants(report: MakeReport) -> None:
    def rule(sizes: list[int]) -> str:
        ids = [f"0/{n}" for n in range(1, len(sizes))]
        pairs = list(pairwise(sizes))
        row = recompile("size", "x dim 0", changes=pairs, count=len(pairs), compile_ids=ids)
        return advise(report(recompiles=[row]))[0].rule

    assert rule([32, 64, 128, 256]) == "bucket_ladder_poor_fit"
    assert rule([24, 40, 72, 136, 200]) == "intended_size_variants"
    assert rule([24, 40]) == "size_drift"


def test_threads_are_told_by_the_thread_of_the_first_compile(report: MakeReport) -> None:
    rows = report(
        recompiles=[recompile("grad_mode", "grad mode", holder=None, thread="scorer", compile_ids=["0/1"])]
    )
    process = rows.recompiles[0].process
    (found,) = advise(rows, threads={(process, "0/0"): "trainer", (process, "0/1"): "scorer"})
    assert found.rule == "thread_mixed_modes"
    assert "they happened in thread scorer" in found.evidence.notes
    assert (
        advise(rows, threads={(process, "0/0"): "scorer", (process, "0/1"): "scorer"})[0].rule
        == "grad_mode_toggle"
    )


def test_a_mode_that_the_main_thread_switches_is_no_matter_of_threads(report: MakeReport) -> None:
    """Workers compiled it first; the recompile is in a validation loop after they ended."""
    row = recompile("autocast", "autocast(cpu) enabled", holder=None, thread="MainThread")
    threads = {(row.process, "0/0"): "worker", (row.process, "0/1"): "MainThread"}
    assert advise(report(recompiles=[row]), threads=threads)[0].rule == "autocast_toggle"


@pytest.mark.parametrize(
    ("kinds", "said", "not_said"),
    [
        (["size"], "mark_dynamic", "grad mode"),
        (["grad_mode"], "same grad mode", "mark_dynamic"),
        (["size", "grad_mode"], "same grad mode in every thread, and mark_dynamic", "nothing"),
    ],
)
def test_threads_are_told_only_what_differs_between_them(
    report: MakeReport, kinds: list[str], said: str, not_said: str
) -> None:
    rows = [recompile(kind, "x dim 0", compile_ids=[f"0/{n + 1}"]) for n, kind in enumerate(kinds)]
    threads = {(rows[0].process, f"0/{n}"): f"worker {n}" for n in range(3)}
    (found,) = advise(report(recompiles=rows), threads=threads)
    assert found.rule == "thread_mixed_modes"
    assert said in found.fix
    assert not_said not in found.fix + found.summary


@pytest.mark.parametrize(("other", "confidence"), [("worker 2", "high"), ("MainThread", "low")])
def test_a_compile_for_which_an_entry_fits_is_no_setting_that_changes(
    report: MakeReport, other: str, confidence: str
) -> None:
    row = recompile("none_failed", "no guard", holder=None, value_type=None, changes=[(None, None)])
    threads = {(row.process, "0/0"): "MainThread", (row.process, "0/1"): other}
    (found,) = advise(report(recompiles=[row]), threads=threads)
    assert (found.rule, found.fix_kind) == ("compiled_while_waiting", "call_once_first")
    assert found.confidence == confidence
    assert ("another thread" in found.summary) == (confidence == "high")
    assert "before the threads start" in found.fix


def test_functions_that_share_a_wrapper_of_torch_are_told_to_leave_it(report: MakeReport) -> None:
    row = recompile("code", SEVERAL, holder=None, value_type=None, changes=[("one function", "another")])
    row = replace(row, blocked_by_limit=1)
    (found,) = advise(report(recompiles=[row], limit_hits=[limit_hit()]))
    assert (found.rule, found.severity) == ("shared_wrapper", "critical")
    assert "above torch.compile" in found.fix
    assert found.refs == ("recompiles[0]", "limit_hits[0]")


def test_a_reason_that_is_not_known_is_no_setting_either(report: MakeReport) -> None:
    row = recompile("unknown", "words of a torch to come", holder=None, changes=[(None, None)])
    assert advise(report(recompiles=[row]))[0].rule == "unexplained_recompile"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("for n in range(2):\n    Thread(target=work).start()\n", "thread_mixed_modes"),
        ("a = Thread(target=work)\nb = threading.Thread(target=work)\n", "thread_mixed_modes"),
        ("pool.submit(work, 3)\n", "thread_mixed_modes"),
        ("Thread(target=work).start()\n", "grad_mode_toggle"),
        ("for n in range(2):\n    Thread(target=other).start()\n", "grad_mode_toggle"),
    ],
)
def test_where_threads_read_the_same_the_source_is_asked(report: MakeReport, text: str, rule: str) -> None:
    row = recompile("grad_mode", "grad mode", holder=None, compile_ids=["0/1"], called_from="train.py:9 work")
    same = {(row.process, "0/0"): "scorer", (row.process, "0/1"): "scorer"}
    assert advise(report(recompiles=[row]), {"train.py": text}, threads=same)[0].rule == rule


def test_ranks_that_compile_different_numbers_of_times(report: MakeReport) -> None:
    processes = [ProcessInfo(f"p{n}", n, n, 2, "2.13", "3.11", "CPU") for n in (0, 1)]
    frames = [
        frame(process="p0", called_from="train.py:20 main", recompiles=0),
        frame(process="p1", called_from="train.py:20 main", recompiles=2),
    ]
    row = recompile("size", "x dim 0", process="p1", count=2, compile_ids=["0/1", "0/2"])
    found = advise(report(processes=processes, frames=frames, recompiles=[row]))[0]
    assert (found.rule, found.severity) == ("rank_divergent_shapes", "high")
    assert "rank 1 recompiled 2 times, others 0" in found.evidence.notes


def test_a_line_of_several_statements_is_never_replaced(report: MakeReport) -> None:
    """A diff that dropped `self.hist = []` would be worse than none."""
    text = COUNTS.replace("self.index = index", "self.index = 0; self.hist = []")
    row = recompile(source="self.index", holder="module_attribute", line=9)
    assert advise(report(recompiles=[row]), {"train.py": text})[0].diff is None
    whole = COUNTS.replace("self.index = index", "self.index = 0")
    assert "register_buffer" in (advise(report(recompiles=[row]), {"train.py": whole})[0].diff or "")


def test_the_width_of_an_input_follows_from_the_layer(report: MakeReport) -> None:
    ids = ["0/1", "0/2"]
    rows = [
        recompile("size", "self.fc.bias dim 0", holder="module_attribute", compile_ids=ids, count=2),
        recompile("size", "x dim 1", compile_ids=ids[1:]),
    ]
    assert [f.rule for f in advise(report(recompiles=rows))] == ["per_layer_parameter_shapes"]


def test_other_keys_of_a_dict_explain_its_length(report: MakeReport) -> None:
    rows = [recompile("dict_keys", "keys of feats"), recompile("container_length", "len(feats)")]
    (found,) = advise(report(recompiles=rows))
    assert (found.rule, found.summary) == (
        "dict_keys_change",
        "forward(): the keys of feats change between calls",
    )


def test_a_branch_on_a_size_is_no_drift_of_that_size(report: MakeReport) -> None:
    rows = [
        recompile("size", "x dim 0", changes=[(2, 3)]),
        recompile("symbolic_guard", "x dim 0", changes=[("2 <= x dim 0 <= 3", 4)], compile_ids=["0/2"]),
    ]
    assert {f.rule for f in advise(report(recompiles=rows))} == {"size_drift", "branch_on_size"}


MODEL = "def forward(x):\n    return hook(x)\n\ndef hook(x):\n    return x\n\ndef main():\n    forward(1)\n"


def test_a_mode_that_reaches_a_called_function_is_one_cause(report: MakeReport) -> None:
    def rows(caller: str) -> list[str]:
        outer = recompile("grad_mode", "grad mode", holder=None, line=1, called_from="train.py:8 main")
        inner = replace(outer, function="hook", line=4, called_from=caller, compile_ids=["1/1"])
        sources = {"train.py": MODEL}
        return [f.function or "" for f in advise(report(recompiles=[inner, outer]), sources)]

    assert rows("train.py:2 forward") == ["forward"]
    assert sorted(rows("train.py:8 main")) == ["forward", "hook"]


def test_functions_that_call_each_other_under_another_mode_are_told_once(report: MakeReport) -> None:
    one = recompile("grad_mode", "grad mode", holder=None, line=1, called_from="train.py:5 hook")
    two = replace(one, function="hook", line=4, called_from="train.py:2 forward", compile_ids=["1/1"])
    (found,) = advise(report(recompiles=[one, two]), {"train.py": MODEL})
    assert sorted(found.refs) == ["recompiles[0]", "recompiles[1]"]


@pytest.mark.parametrize(
    ("later", "lines"),
    [
        ([(1.0, 1.5), (1.5, 2.0)], ("limit 0.5 -> 1 -> 1.5 -> 2",)),
        ([(9.0, 1.5)], ("limit 0.5 -> 1", "limit 9 -> 1.5")),
        ([("limit <= 1", 1.5)], ("limit 0.5 -> 1", "limit <= 1 fails for 1.5")),
    ],
)
def test_one_number_under_two_kinds_of_guards_is_one_line(
    report: MakeReport, later: list[tuple[Any, Any]], lines: tuple[str, ...]
) -> None:
    rows = [
        recompile("symbolic_guard", "limit", changes=later, count=2, compile_ids=["0/2", "0/3"]),
        recompile(source="limit", value_type="float", changes=[(0.5, 1.0)]),
    ]
    (found,) = advise(report(recompiles=rows))
    assert found.evidence.changes == lines
