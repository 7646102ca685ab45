"""The stored corpus: the right rule first, at its line, with its change; silence when the fault is gone."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from compilescope.advice import Finding, examine, worst_from_findings
from compilescope.advice.catalog import catalog
from compilescope.advice.finding import SEVERITIES
from compilescope.model import load
from compilescope.recording import open_recording

CORPUS = Path(__file__).parents[3] / "fixtures" / "corpus"
CASES = json.loads((CORPUS / "expected.json").read_text())["cases"]
# Programs that keep something on purpose although their fault is gone (README of the corpus).
KEEPS = {"25_hot_loop_break": {"print_in_compiled_region"}}
SEVERITY = {"blocker": "critical", "info": "note"}
# The line of a case whose truth has neither a break, nor a recompile, nor an error.
PLACES = {
    "36_cache_miss_across_processes": ("job.py", {6}),
    "37_rank_skew": ("37_rank_skew.py", {11}),
    "39_guard_heavy_module": ("39_guard_heavy_module.py", {27}),
}
# What torch prints and what does not work here, as tried on torch 2.13.
HINTS = {
    "01_print_in_forward": "reorderable_logging_functions) does not help here: h.shape",
    "02_item_and_tensor_branch": "capture_scalar_outputs: it removes this break but not the branch",
    "25_hot_loop_break": "does not help here, a Python branch stays a break",
    "34_global_step_counter": "allow_unspec_int_on_nn_module does not help here",
    "40_forward_hooks_read_scalars": "removes the break only, peaks still grows",
}
DIFFS = {
    "01_print_in_forward": "+        if not torch.compiler.is_compiling():",
    "02_item_and_tensor_branch": "+        y = torch.where(y.mean() > 0, y - y.mean(), y)",
    "04_custom_op_without_fake": "+@soft_shrink.register_fake",
    "06_logging_call": '+            log.info("post-mix shape %s", tuple(z.shape))',
    "08_step_counter_attr": '+        self.register_buffer("calls", torch.zeros(()))',
    "10_batch_size_drift": "+            torch._dynamo.mark_dynamic(xb, 0)",
    "18_memory_format_change": "+            fast(img.contiguous(memory_format=torch.channels_last))",
    "21_mark_dynamic_violated": '+        self.register_buffer("row_bias", torch.zeros(1, 1))',
    "23_compiled_optimizer_lr": "+    opt = torch.optim.AdamW(net.parameters(), lr=torch.tensor(1e-2))",
    "25_hot_loop_break": "+        h = torch.where(h.norm() > 100.0, h * 0.5, h)",
    "27_fullgraph_error": "+    h = torch.where(h.abs().mean() > 0.5, h * 0.5, h)",
    "29_backward_break": "+        grad = torch.where(grad.abs().max() > 1.0, grad / grad.abs().max(), grad)",
}


@cache
def findings(program: str) -> list[Finding]:
    return examine(load(open_recording(CORPUS / "recordings" / f"{program}.zip")))[1]


@pytest.mark.parametrize("case", CASES)
def test_the_first_finding_is_the_cause_and_its_change(case: str) -> None:
    first, truth = findings(case)[0], CASES[case]
    assert (first.rule, first.fix_kind) == (truth["root_cause_category"], truth["fix_category"])


@pytest.mark.parametrize("case", CASES)
def test_the_first_finding_stands_at_the_line(case: str) -> None:
    first = findings(case)[0]
    file, lines = places(case)
    assert first.file is not None
    assert first.file.endswith(file)
    assert first.line in lines


@pytest.mark.parametrize("case", CASES)
def test_severity_is_that_of_the_truth(case: str) -> None:
    severity = CASES[case]["severity"]
    assert findings(case)[0].severity == SEVERITY.get(severity, severity)


@pytest.mark.parametrize("case", CASES)
def test_nothing_but_the_fault_is_above_a_note(case: str) -> None:
    """One root cause is one finding, however many breaks, recompiles and limits it made."""
    loud = [f.rule for f in findings(case)[1:] if f.severity != "note"]
    assert set(loud) <= KEEPS.get(case, set())


@pytest.mark.parametrize("case", CASES)
def test_a_fixed_program_has_notes_at_most(case: str) -> None:
    loud = {f.rule for f in findings(f"{case}_fixed") if f.severity != "note"}
    assert loud <= KEEPS.get(case, set())


@pytest.mark.parametrize(("case", "text"), HINTS.items())
def test_hints_of_torch_that_do_not_work_here_are_called_so(case: str, text: str) -> None:
    assert any(text in note for note in findings(case)[0].evidence.notes)


@pytest.mark.parametrize(("case", "line"), DIFFS.items())
def test_the_diff_has_the_changed_line(case: str, line: str) -> None:
    assert line in (findings(case)[0].diff or "").splitlines()


def test_the_cause_torch_blames_is_corrected() -> None:
    notes = findings("24_history_grows")[0].evidence.notes
    assert any(
        "torch's own warning blames len(stats); len(history) changed 8 times" in note for note in notes
    )


def test_fix_first_keeps_the_correction_and_the_change() -> None:
    (line,) = worst_from_findings(findings("24_history_grows"))
    assert line.kind == "limit_hit"
    assert line.note is not None
    assert line.fix is not None
    assert "keep a preallocated tensor" in line.fix
    assert "torch's own warning blames len(stats)" in line.note


def test_a_scalar_read_in_a_hook_is_one_cause_of_nine_breaks_eight_recompiles_and_a_limit() -> None:
    cost = {name: amount.value for name, amount in findings("40_forward_hooks_read_scalars")[0].cost.items()}
    expected = {"break_events": 9, "recompiles": 8, "eager_calls": 4, "breaks_executed": 12}
    assert expected.items() <= cost.items()


def test_findings_are_the_same_when_asked_again_and_ranked_by_severity() -> None:
    for case in CASES:
        found = findings(case)
        again = examine(load(open_recording(CORPUS / "recordings" / f"{case}.zip")))[1]
        assert found == again
        ranks = [SEVERITIES.index(f.severity) for f in found]
        assert ranks == sorted(ranks)


def test_every_rule_that_fires_is_in_the_catalog() -> None:
    fired = {f.rule for case in CASES for f in (*findings(case), *findings(f"{case}_fixed"))}
    assert fired <= set(catalog())


def places(case: str) -> tuple[str, set[int]]:
    truth = CASES[case]
    if case in PLACES:
        return PLACES[case]
    if "compile_error" in truth:
        return truth["compile_error"]["file"], {truth["compile_error"]["line"]}
    if truth["graph_breaks"] and case != "23_compiled_optimizer_lr":
        return truth["graph_breaks"][0]["file"], {b["line"] for b in truth["graph_breaks"]}
    if case == "23_compiled_optimizer_lr":
        return f"{case}.py", {14}
    lines = {r.get("line", r.get("user_call_line")) for r in truth["recompiles"]}
    return f"{case}.py", lines
