"""Sizes that a line makes constants: marking them dynamic raises an error, so nothing may advise that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from report_rows import graph, recompile

from compilescope.advice import Finding, advise
from compilescope.analysis.report import Graph, Report, Specialization

MakeReport = Callable[..., Report]
LOOP = "def forward(x):\n    for t in range(x.shape[0]):\n        x = x + t\n    return x\n\nfast(x)\n"
ITEMS = "def forward(x):\n    return torch.stack([row * 2 for row in x])\n\nfast(x)\n"
TABLE = LOOP.replace("for t in range(x.shape[0]):", "if x.shape[0] in masks:")


def fixed(value: int, line: int | None = 2, partner: str | None = None) -> Specialization:
    file = "train.py" if line else None
    return Specialization("L['x'].size()[0]", str(value), "range_refined_to_singleton", file, line, partner)


def graphs(pins: Sequence[Specialization | None], calls: Sequence[int | None]) -> list[Graph]:
    pairs = zip(pins, calls, strict=True)
    return [
        graph(compile_id=f"0/{n}", calls=times, specializations=[pin] if pin else [])
        for n, (pin, times) in enumerate(pairs, 1)
    ]


def told(
    report: MakeReport,
    sizes: Sequence[int],
    pins: Sequence[Specialization | None] | None = None,
    calls: Sequence[int | None] | None = None,
    *,
    text: str = LOOP,
    **fields: object,
) -> list[Finding]:
    met = [*pairwise(sizes)]
    row = recompile(
        "size",
        "x dim 0",
        line=1,
        changes=met,
        count=len(met),
        compile_ids=[f"0/{n}" for n in range(1, len(sizes))],
        **fields,
    )
    known = graphs(pins or [fixed(size) for size in sizes[1:]], calls or [1] * len(met))
    return advise(report(recompiles=[row], graphs=known), {"train.py": text})


def test_a_size_that_a_line_fixes_is_told_at_that_line_and_never_marked(report: MakeReport) -> None:
    (found,) = told(report, [5, 6, 9, 12], text=TABLE)
    assert (found.rule, found.line, found.severity) == ("size_used_as_number", 2, "medium")
    assert "needs x dim 0 as a Python number here" in found.summary
    assert "mark_dynamic" not in found.fix
    assert found.diff is None


def test_a_loop_over_the_size_is_told_as_one(report: MakeReport) -> None:
    (found,) = told(report, [2, 3, 5, 4, 6])
    assert "the loop runs over x dim 0" in found.summary
    assert "compile the body of the loop" in found.fix
    (listed,) = told(report, [2, 3, 5], text=ITEMS)
    assert "the loop runs over x dim 0" in listed.summary


@pytest.mark.parametrize("sizes", [[32, 7], [32, 64, 128, 256], [24, 40, 72, 136, 200]])
def test_a_pinned_size_is_neither_a_last_batch_nor_a_ladder(report: MakeReport, sizes: list[int]) -> None:
    (found,) = told(report, sizes, benign=len(sizes) == 2)
    assert found.rule == "size_used_as_number"


def test_a_branch_that_fixes_one_graph_of_several_leaves_the_size_dynamic(report: MakeReport) -> None:
    (found,) = told(report, [16, 24, 32, 40], [None, fixed(32), None])
    assert found.rule == "size_drift"


def test_a_size_taken_from_a_partner_or_of_another_tensor_is_no_number_in_code(report: MakeReport) -> None:
    assert told(report, [5, 6, 9], [fixed(6, partner="self.bias dim 0")] * 2)[0].rule == "size_drift"
    other = Specialization("L['y'].size()[0]", "6", None, "train.py", 2)
    assert told(report, [5, 6, 9], [other] * 2)[0].rule == "size_drift"
    both = Specialization("L['y'].size()[0], L['x'].size()[0]", "6", None, "train.py", 2)
    assert told(report, [5, 6, 9], [both] * 2)[0].rule == "size_used_as_number"


def test_without_a_line_of_the_program_the_function_itself_is_named(report: MakeReport) -> None:
    (found,) = told(report, [5, 6, 9], [fixed(6, line=None), fixed(9, line=None)])
    assert (found.rule, found.line) == ("size_used_as_number", 1)


def test_a_ladder_of_pinned_sizes_that_serve_again_is_a_note(report: MakeReport) -> None:
    assert told(report, [8, 16, 24, 32], calls=[9, 7, 30])[0].severity == "note"
    assert told(report, [8, 16, 24, 32], calls=[9, 1, 30])[0].severity == "medium"
    assert told(report, [8, 16, 24, 32], calls=[9, None, 30])[0].severity == "medium"


def test_layers_of_different_widths_explain_a_width_that_their_weights_fix(report: MakeReport) -> None:
    ids = ["0/1", "0/2"]
    rows = [
        recompile("size", "self.fc.bias dim 0", holder="module_attribute", compile_ids=ids, count=2),
        recompile("size", "x dim 0", compile_ids=ids, count=2),
    ]
    known = graphs([fixed(6), fixed(7)], [1, 1])
    assert [f.rule for f in advise(report(recompiles=rows, graphs=known))] == ["per_layer_parameter_shapes"]


def test_an_intended_ladder_is_one_whose_graphs_nearly_all_serve_again(report: MakeReport) -> None:
    none = [None] * 4
    sizes = [24, 40, 72, 136, 200]
    assert told(report, sizes, none, [2, 1, 1, 1])[0].rule == "size_drift"
    (known,) = told(report, sizes, none, [2, 3, 9, 4])
    assert (known.rule, "used again" in known.summary) == ("intended_size_variants", True)
    (unknown,) = told(report, sizes, none, [2, None, 9, 4])
    assert (unknown.rule, "used again" in unknown.summary) == ("intended_size_variants", False)


def test_graphs_that_served_one_call_promise_nothing_for_further_steps(report: MakeReport) -> None:
    (once,) = told(report, [5, 6, 9, 12])
    assert once.saving is not None
    assert (once.saving.seconds, once.saving.per_1000_steps_s) == (0.5, None)
    (again,) = told(report, [5, 6, 9, 12], calls=[9, 9, 9])
    assert again.saving is not None
    assert again.saving.per_1000_steps_s == 0.0
