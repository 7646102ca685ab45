from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from report_rows import failure, graph_break, limit_hit, recompile

from compilescope.advice import advise, worst_from_findings
from compilescope.analysis.report import Report

MakeReport = Callable[..., Report]

HOOKED = """import torch

peaks = []

def record(module, args, out):
    peaks.append(out.max().item())

net.layer.register_forward_hook(record)
"""
READS = """import torch

def forward(self, x, t):
    n = int(x.sum())
    y = x * n
    return y * t
"""


def test_sites_of_one_function_that_one_change_removes_are_one_finding(report: MakeReport) -> None:
    sites = [graph_break(line=7), graph_break("logging_in_compiled_region", line=5, code="log.info(1)")]
    (found,) = advise(report(graph_breaks=sites))
    assert (found.line, found.executions) == (5, 20)
    assert found.evidence.sites == ("train.py:5 log.info(1)", "train.py:7 print(x.shape)")


def test_sites_that_need_different_changes_stay_apart(report: MakeReport) -> None:
    sites = [graph_break(), graph_break("numpy_unsupported", line=7)]
    found = advise(report(graph_breaks=sites))
    assert all("one of 2 changes that forward() needs" in " ".join(f.evidence.notes) for f in found)
    assert {f.rule for f in found} == {
        "print_in_compiled_region",
        "numpy_unsupported",
    }


def test_the_same_break_on_every_rank_is_one_finding(report: MakeReport) -> None:
    sites = [graph_break(process=f"rank{n}-pid{n}-aaaa") for n in range(4)]
    (found,) = advise(report(graph_breaks=sites))
    assert found.executions == 40
    assert "the same in 4 processes" in found.evidence.notes


def test_a_break_that_makes_recompiles_and_a_limit_is_one_cause(report: MakeReport) -> None:
    made = recompile(source="___stack0", holder="resume_value", caused_by="train.py:5", blocked_by_limit=1)
    rows = report(
        graph_breaks=[graph_break("scalar_read")], recompiles=[made], limit_hits=[limit_hit()], settled=False
    )
    (found,) = advise(rows)
    assert (found.rule, found.severity) == ("scalar_read", "critical")
    assert set(found.refs) == {"graph_breaks[0]", "recompiles[0]", "limit_hits[0]"}
    assert found.cost["eager_calls"].value == 40


def test_a_counter_behind_a_print_is_a_cause_of_its_own(report: MakeReport) -> None:
    counter = recompile(source="self.n", holder="module_attribute", caused_by="train.py:5", line=8)
    found = advise(report(graph_breaks=[graph_break()], recompiles=[counter]))
    assert {f.rule for f in found} == {"print_in_compiled_region", "module_int_attribute"}


def test_a_local_read_from_a_tensor_goes_with_the_break_but_a_parameter_does_not(report: MakeReport) -> None:
    rows = [
        recompile(source=name, caused_by="train.py:4", compile_ids=[i])
        for name, i in (("n", "1/1"), ("t", "1/2"))
    ]
    found = advise(
        report(graph_breaks=[graph_break("scalar_read", line=4)], recompiles=rows), {"train.py": READS}
    )
    by_rule = {f.rule: f for f in found}
    assert by_rule["scalar_read"].refs == ("graph_breaks[0]", "recompiles[0]")
    assert by_rule["int_argument_variants"].refs == ("recompiles[1]",)


def test_a_registered_hook_is_known_by_its_registration(report: MakeReport) -> None:
    site = graph_break("scalar_read", function="record", line=6, code="peaks.append(out.max().item())")
    assert advise(report(graph_breaks=[site]), {"train.py": HOOKED})[0].rule == "hook_reads_scalar"
    assert advise(report(graph_breaks=[site]), {})[0].rule == "scalar_read"


@pytest.mark.parametrize(
    ("fields", "severity"),
    [
        ({"resume": ["frame_skipped"], "runtime_hits": None}, "high"),
        ({"resume": ["tail_skipped"]}, "high"),
        ({"runtime_hits": 5000}, "high"),
        ({"runtime_hits": 10}, "medium"),
        ({"runtime_hits": 1}, "low"),
    ],
)
def test_severity_follows_what_runs_eager_and_how_often(
    report: MakeReport, fields: dict[str, object], severity: str
) -> None:
    assert advise(report(graph_breaks=[graph_break(**fields)]))[0].severity == severity


def test_a_cold_break_beside_a_hot_one_can_wait(report: MakeReport) -> None:
    hot = graph_break("data_dependent_branch", function="cell", line=30, runtime_hits=200)
    found = advise(report(graph_breaks=[graph_break(runtime_hits=5), hot]))
    assert [(f.line, f.severity) for f in found] == [(30, "high"), (5, "low")]


@pytest.mark.parametrize("cause", ["explicit_graph_break", "compiler_disabled_call"])
def test_a_deliberate_break_is_a_note(report: MakeReport, cause: str) -> None:
    assert advise(report(graph_breaks=[graph_break(cause)]))[0].severity == "note"


def test_a_line_of_an_installed_package_is_named_as_a_library_with_the_callers_line(
    report: MakeReport,
) -> None:
    site = graph_break(
        file="/usr/lib/python3/site-packages/lib/util.py", call_path=["train.py:9 main", "lib:5 f"]
    )
    found = advise(report(graph_breaks=[site]))[0]
    assert (found.rule, found.fix_kind) == ("library_debug_code", "library_switch_or_disable")
    assert found.called_from == "train.py:9 main"
    assert "site-packages" not in found.identity


def test_an_unknown_cause_keeps_torchs_reason(report: MakeReport) -> None:
    site = graph_break("made_up_tomorrow", reason="Dynamo cannot do X")
    found = advise(report(graph_breaks=[site]))[0]
    assert (found.rule, found.confidence) == ("unsupported", "medium")
    assert "Dynamo cannot do X" in found.summary


def test_unknown_run_time_hits_are_not_zero(report: MakeReport) -> None:
    found = advise(report(graph_breaks=[graph_break(runtime_hits=None)]))[0]
    assert "breaks_executed" not in found.cost
    assert found.saving is None


@pytest.mark.parametrize(
    ("hint", "setting"),
    [
        (
            "Move the class out or set `torch._dynamo.config.enable_trace_load_build_class=True`.",
            "torch._dynamo.config.enable_trace_load_build_class = True",
        ),
        (
            "Change `torch._dynamo.config.trace_autograd_ops` to `True`.",
            "torch._dynamo.config.trace_autograd_ops = True",
        ),
        (
            "Set `torch._dynamo.config.enable_faithful_generator_behavior = False`. Note that",
            "torch._dynamo.config.enable_faithful_generator_behavior = False",
        ),
    ],
)
@pytest.mark.parametrize("library", [False, True])
def test_a_setting_that_torch_hints_at_goes_before_general_advice(
    report: MakeReport, hint: str, setting: str, library: bool
) -> None:
    found = advise(report(graph_breaks=[graph_break("unsupported", hint=hint, library=library)]))[0]
    assert found.rule == ("break_in_library" if library else "unsupported")
    assert found.fix.startswith(f"torch's hint: set {setting} before the first call; else ")


def test_a_setting_beside_particular_advice_is_a_note(report: MakeReport) -> None:
    hint = "Set torch._dynamo.config.capture_dynamic_output_shape_ops = True"
    found = advise(report(graph_breaks=[graph_break("data_dependent_shape", hint=hint)]))[0]
    assert "capture_dynamic_output_shape_ops" not in found.fix
    expected = "torch's own hint: set torch._dynamo.config.capture_dynamic_output_shape_ops = True"
    assert expected in found.evidence.notes


@pytest.mark.parametrize("hint", [None, "Add it to torch._dynamo.config.ignore_logger_methods."])
def test_a_hint_without_a_value_to_set_changes_nothing(report: MakeReport, hint: str | None) -> None:
    found = advise(report(graph_breaks=[graph_break("unsupported", hint=hint)]))[0]
    assert "torch's hint" not in found.fix


def test_a_recurrent_layer_stands_where_the_program_calls_it(report: MakeReport) -> None:
    """nn.Sequential breaks in torch's own file."""
    site = graph_break("recurrent_layer", file="torch/nn/modules/container.py", line=253, library=True)
    found = advise(report(graph_breaks=[replace(site, call_path=["train.py:20 main"])]))[0]
    assert (found.rule, found.file, found.line) == ("recurrent_layer", "train.py", 20)
    assert "torch._dynamo.config.allow_rnn = True" in found.fix


def test_a_lower_bound_of_runs_is_told_as_one(report: MakeReport) -> None:
    sites = [graph_break(), graph_break(line=17, runtime_hits_basis="at least: calls of the graph")]
    found = advise(report(graph_breaks=sites))[0]
    assert found.cost["breaks_executed"].how.startswith("at least: ")
    assert (worst_from_findings([found])[0].cost or "").startswith("ran at least 20 times (counted)")


def test_an_error_under_fullgraph_takes_the_change_of_the_break(report: MakeReport) -> None:
    found = advise(report(failures=[failure()]))[0]
    assert (found.rule, found.fix_kind, found.severity) == (
        "fullgraph_violation",
        "keep_as_tensor_ops",
        "critical",
    )


def test_a_suppressed_error_is_high_and_says_that_it_runs_eager(report: MakeReport) -> None:
    row = failure(exception="BackendCompilerFailed", message="backend failed", suppressed=True)
    found = advise(report(failures=[row, replace(row, compile_id="1/0")]))
    assert [(f.rule, f.severity, f.cost["failures"].value) for f in found] == [
        ("suppressed_error", "high", 2)
    ]
    assert "eager" in found[0].summary


def test_a_break_inside_a_library_stands_at_the_programs_own_line(report: MakeReport) -> None:
    path = [
        "train.py:20 main",
        "train.py:7 forward",
        "/opt/lib/python3.11/ctypes/__init__.py:389 __getattr__",
    ]
    site = graph_break(
        "unsupported_method", file="torch/_dynamo/polyfills/__init__.py", line=505, library=True
    )
    skipped = replace(site, call_path=path, resume=["frame_skipped"], runtime_hits=None)
    (found,) = advise(report(graph_breaks=[skipped]))
    assert (found.rule, found.place, found.function) == ("break_in_library", "train.py:7", "forward")
    assert found.severity == "high"
    assert advise(report(graph_breaks=[replace(site, call_path=path)]))[0].severity == "note"


def test_what_lay_on_the_stack_at_a_break_goes_with_the_break(report: MakeReport) -> None:
    freed = recompile("identity", "___stack0", holder="resume_value")
    rows = report(
        graph_breaks=[graph_break("scalar_read")], recompiles=[replace(freed, caused_by="train.py:5")]
    )
    assert [f.rule for f in advise(rows)] == ["scalar_read"]


def test_a_diff_that_covers_a_part_says_so(report: MakeReport) -> None:
    text = "def forward(x):\n    if x.any():\n        x = x + 1\n    if x.all():\n        return x\n"
    sites = [graph_break("data_dependent_branch", line=n, code="if") for n in (2, 4)]
    (found,) = advise(report(graph_breaks=sites), {"train.py": text})
    assert found.diff is not None
    assert any("changes 1 of 2 lines" in note for note in found.evidence.notes)
