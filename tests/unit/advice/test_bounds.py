"""A bound on a size is torch's own only where nothing in the program can have set it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from report_rows import recompile

from compilescope.advice import Finding, advise
from compilescope.analysis.report import Report

MakeReport = Callable[..., Report]


def told(report: MakeReport, text: str, line: int, *, bound: str = "2 <= x dim 0 <= 8") -> Finding:
    row = recompile("symbolic_guard", "x dim 0", changes=[(bound, 50)], line=line)
    return advise(report(recompiles=[row]), {"train.py": text})[0]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("if x.shape[0] > 8: pass", "branch_on_size"),
        ("y = a if x.shape[0] > 8 else b", "branch_on_size"),
        ("assert n <= 8", "branch_on_size"),
        ("y = x[:8]", "branch_on_size"),
        ("y = x.new_zeros(min(n, 8))", "branch_on_size"),
        ("for i in range(n): pass", "branch_on_size"),
        ("if x.shape[0] % 8: pass", "branch_on_size"),
        ("y = F.relu(self.conv(x))", "size_bound_of_torch"),
        ("y = x[:, 0]", "size_bound_of_torch"),
        ("total = x.mean().item() if x is not None else 0", "size_bound_of_torch"),
    ],
)
def test_a_function_that_asks_nothing_leaves_the_bound_to_torch(
    report: MakeReport, line: str, rule: str
) -> None:
    text = f"def forward(self, x):\n    {line}\n    return y\n"
    for at in (1, 2, 3):  # the line that torch names is the last one that touched the bound
        found = told(report, text, at)
        assert (found.rule, "2 <= x dim 0 <= 8" in found.summary) == (rule, rule == "size_bound_of_torch")


def test_the_condition_is_told_at_its_own_line(report: MakeReport) -> None:
    text = "def forward(x, y):\n    if x.shape[0] > 5:\n        x = x + 1\n    return x + y\n"
    assert told(report, text, 4, bound="6 <= x dim 0 <= 4096").line == 2
    twice = text.replace("x + 1", "x[:3]")
    assert told(report, twice, 4, bound="6 <= x dim 0 <= 4096").line == 4


@pytest.mark.parametrize(
    ("helper", "rule"),
    [
        ("if x.shape[0] > 8: pass", "branch_on_size"),
        ("if len(x) >= 9: pass", "branch_on_size"),
        ("if x.shape[0] > 64: pass", "size_bound_of_torch"),
        ("n = x.shape[0]; y = n if n < 9 else 8", "branch_on_size"),
        ("if epoch > 8: pass", "size_bound_of_torch"),
        ("if x.shape[0] > 2: pass", "size_bound_of_torch"),
    ],
)
def test_a_function_that_is_called_may_have_set_the_bound(report: MakeReport, helper: str, rule: str) -> None:
    text = f"def forward(x):\n    return helper(x)\n\ndef helper(x):\n    {helper}\n    return x\n"
    assert told(report, text, 2).rule == rule


def test_a_bound_of_unknown_source_is_not_laid_on_torch(report: MakeReport) -> None:
    row = recompile("symbolic_guard", "x dim 0", changes=[("x dim 0 <= 8", 50)], line=1)
    assert advise(report(recompiles=[row]))[0].rule == "branch_on_size"
    assert told(report, "x = 1\n", 1).rule == "branch_on_size"


def test_one_bound_of_torch_is_a_note_that_is_not_quite_sure(report: MakeReport) -> None:
    found = told(report, "def forward(x):\n    return x\n", 2)
    assert (found.severity, found.confidence) == ("note", "medium")
