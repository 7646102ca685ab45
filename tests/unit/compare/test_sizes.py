from __future__ import annotations

import pytest
from compare_runs import frame, made

from compilescope.analysis.report import FrameSizes, SizeRow
from compilescope.compare import compare


def run(counts: dict[int, int]):
    rows = [SizeRow({"x.size(0)": value}, n, "counted") for value, n in counts.items()]
    calls = sum(counts.values())
    sizes = FrameSizes("step", "train.py", 3, "p", ["x.size(0)"], rows, len(rows), calls, 0, 0.0)
    return made(frames=[frame()], sizes=[sizes])


def test_values_that_only_one_run_has():
    (change,) = compare(run({8: 4, 16: 4}), run({8: 4, 32: 4})).sizes
    assert (change.new, change.gone) == ([32], [16])
    assert (change.base.largest, change.head.largest, change.head.distinct) == (16, 32, 2)
    assert change.moved_share == 0.5


def test_the_same_values_in_other_shares():
    (change,) = compare(run({8: 9, 16: 1}), run({8: 5, 16: 5})).sizes
    assert (change.new, change.gone, change.moved_share) == ([], [], 0.4)


@pytest.mark.parametrize("head", [{8: 4, 16: 4}, {8: 400, 16: 400}, {8: 101, 16: 100}])
def test_more_steps_of_the_same_are_no_difference(head):
    assert compare(run({8: 4, 16: 4}), run(head)).sizes == []


def test_a_size_that_only_one_run_counted():
    (change,) = compare(made(frames=[frame()]), run({8: 4})).sizes
    assert (change.base, change.new, change.moved_share) == (None, [8], None)
