"""Which artifact served a size of a graph: by the ladder's own counts; unknown where they do not tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import model_values as v
import pytest

from compilescope.analysis.served import Artifact, Served
from compilescope.model import BucketEvent, CompileId, Dispatch

ID = CompileId(0, 0, 0)
Row = tuple[str, str, tuple[int, ...] | None, int]  # rung, outcome, sizes, calls


def event(name: str, **fields: Any) -> BucketEvent:
    told = {"backend": "b", "entry": 0, **fields}
    return BucketEvent(name, ID if name == "EntryCaptured" else None, told)


CAPTURED = event("EntryCaptured", symbols=[{"symbol": "s0", "name": "n"}, {"symbol": "s1", "name": None}])
PAD = event("RungCompiled", rung="<=16", kind="pad", sizes=[["n", 16, 16]])
RANGE = event("RungCompiled", rung="17-99", kind="range", sizes=[["n", 17, 99]])


def served(rows: Sequence[Row], *more: BucketEvent) -> Served:
    counts = [Dispatch("b", 0, rung, outcome, ("n",), sizes, n) for rung, outcome, sizes, n in rows]
    return Served(v.index(v.process(bucket_events=(CAPTURED, PAD, RANGE, *more), dispatches=tuple(counts))))


GRAPH = v.graph(0)


@pytest.mark.parametrize(
    ("rows", "artifact"),
    [
        ([("<=16", "padded", (5,), 3)], Artifact("static", {"s0": 16})),
        ([("<=16", "exact", (5,), 3)], Artifact("static")),
        ([("17-99", "range", (5,), 3)], Artifact("dynamic")),
        ([("dynamic", "dynamic", (5,), 3), ("<=16", "padded", (6,), 90)], Artifact("dynamic")),
        ([("eager", "eager", (5,), 1), ("<=16", "padded", (5,), 9)], Artifact("static", {"s0": 16})),
        ([("eager", "eager", (5,), 9), ("<=16", "padded", (5,), 1)], None),
        ([("dynamic", "dynamic", (5,), 4), ("<=16", "padded", (5,), 4)], None),
        ([("<=16", "padded", None, 9)], None),
        ([], None),
    ],
)
def test_what_served_more_than_half_of_the_calls(rows: list[Row], artifact: Artifact | None) -> None:
    told = served(rows)
    assert told.by_ladder(GRAPH)
    assert told.artifact(GRAPH, {"s0": 5, "s1": 77}) == artifact


def test_a_graph_that_was_cut_into_several_is_not_told() -> None:
    second = event("EntryCaptured", entry=1, symbols=[])
    assert not served([], second).by_ladder(GRAPH)


def test_graphs_of_other_backends_have_no_ladder() -> None:
    assert not served([]).by_ladder(v.graph(7))
