"""Sizes of a frame, joined over its static and symbolic cache entries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from compilescope.analysis.report import Frame, Graph, LimitHit, Placeholder, Report, SizeCount
from compilescope.analysis.traffic import traffic_from_report, traffic_of
from compilescope.ladder.planner import TrafficError

Shapes = dict[str, list[Any]]


def graph(compile_id: str, shapes: Shapes, calls: int | None, seen: list[SizeCount] | None = None) -> Graph:
    inputs = [Placeholder(name, "tensor", f"L['{name}']", "float32", shape) for name, shape in shapes.items()]
    return Graph(
        epoch=0,
        compile_id=compile_id,
        function="forward",
        file="model.py",
        line=12,
        ops=1,
        calls=calls,
        backward=False,
        compile_s=0.1,
        process="pid1",
        placeholders=inputs,
        sizes_seen=[] if seen is None and calls is not None else seen,
    )


def frame(compile_ids: list[str], eager_calls: int | None) -> Frame:
    return Frame("forward", "model.py", 12, compile_ids, 1, 1, 1, eager_calls, 0.1, 0, 0, "compiled", "pid1")


def report(graphs: list[Graph], frames: list[Frame] = [], limits: list[LimitHit] = []) -> Report:  # noqa: B006
    nothing: Any = None
    fields = dict.fromkeys(Report.__dataclass_fields__, nothing)
    return Report(**{**fields, "graphs": graphs, "frames": frames, "limit_hits": limits})


def counts(found: Any) -> dict[tuple[int, ...], int]:
    return dict(zip(map(tuple, found.sizes.tolist()), found.counts.tolist(), strict=True))


def test_static_and_symbolic_entries_are_joined() -> None:
    symbolic = [SizeCount({"s31": 24}, 7), SizeCount({"s31": 40}, 4)]
    graphs = [
        graph("0/0", {"x": [16, 8], "mask": [16, 1]}, 5),
        graph("0/1", {"x": [1, 8], "mask": [1, 1]}, 3),
        graph("0/2", {"x": ["s31", 8], "mask": ["s31", 1]}, 11, symbolic),
    ]
    (found,) = traffic_from_report(report(graphs))
    assert found.names == ("x.size(0)",)
    assert counts(found) == {(16,): 5, (1,): 3, (24,): 7, (40,): 4}
    assert found.unseen == 0
    assert not found.ordered
    assert found.label == "forward model.py:12"


def test_two_symbols_stay_joint() -> None:
    seen = [SizeCount({"s0": 2, "s1": 64}, 3), SizeCount({"s0": 4, "s1": 16}, 2)]
    graphs = [graph("0/0", {"x": [1, 8]}, 1), graph("0/1", {"x": ["s0", "s1"]}, 5, seen)]
    (found,) = traffic_from_report(report(graphs))
    assert found.names == ("x.size(0)", "x.size(1)")
    assert counts(found) == {(1, 8): 1, (2, 64): 3, (4, 16): 2}


def test_what_was_not_seen_is_counted() -> None:
    seen = [SizeCount({"s0": 2}, 3), SizeCount({"other": -1}, 4)]
    graphs = [graph("0/0", {"x": [8]}, 1), graph("0/1", {"x": ["s0"]}, 9, seen)]
    (found,) = traffic_from_report(report(graphs, [frame(["0/0", "0/1"], 20)]))
    assert found.unseen == 4 + (9 - 7) + 20
    assert found.unseen_share == pytest.approx(26 / 30)


def test_sizes_that_cannot_be_told_are_unseen_not_guessed() -> None:
    seen = [SizeCount({"s0": 2}, 3)]
    graphs = [
        graph("0/0", {"x": [8]}, 2),
        graph("0/1", {"x": [6]}, 2),
        graph("0/2", {"x": ["s0 + s7"]}, 3, seen),
        graph("0/3", {"y": [5]}, 7),
        graph("0/4", {"x": [0]}, 1),
    ]
    (found,) = traffic_from_report(report(graphs))
    assert counts(found) == {(8,): 2, (6,): 2}
    assert found.unseen == 3 + 7 + 1


def test_a_dimension_tied_to_another_is_told_and_is_no_second_symbol() -> None:
    """Labels one shorter than their tokens, first static, then symbolic."""
    seen = [SizeCount({"s0": 12}, 3), SizeCount({"s0": 20}, 2)]
    graphs = [graph("0/0", {"x": [8], "y": [7]}, 2), graph("0/1", {"x": ["s0"], "y": ["s0 - 1"]}, 5, seen)]
    (found,) = traffic_from_report(report(graphs))
    assert counts(found) == {(8,): 2, (12,): 3, (20,): 2}
    assert found.unseen == 0
    untied = [graph("0/2", {"x": [8], "y": [6]}, 1), *graphs]
    (found,) = traffic_from_report(report(untied))
    assert counts(found) == {(8, 6): 1, (8, 7): 2, (12, 11): 3, (20, 19): 2}


def test_sizes_of_parameters_are_no_traffic() -> None:
    """Two layers of one class, compiled apart: their code is one, their weights are not of one size."""
    weight = "self']._modules['l']._parameters['weight"
    seen = [SizeCount({"s0": 12}, 3), SizeCount({"s0": 20}, 2)]
    graphs = [graph("0/0", {"x": ["s0"], weight: [64]}, 5, seen), graph("0/1", {"x": [7], weight: [32]}, 2)]
    (found,) = traffic_from_report(report(graphs))
    assert found.names == ("x.size(0)",)
    assert traffic_from_report(report([graph(f"0/{n}", {"x": [8], weight: [n]}, 1) for n in (1, 2)])) == []


def test_an_unknown_number_of_calls_makes_the_share_unknown() -> None:
    graphs = [graph("0/0", {"x": [8]}, 2), graph("0/1", {"x": [6]}, 2), graph("0/2", {"x": ["s0"]}, None)]
    (found,) = traffic_from_report(report(graphs))
    assert found.unseen is None
    hit = LimitHit("forward", "model.py", 12, 8, None, None, None, "pid1")
    (found,) = traffic_from_report(report(graphs[:2], [frame(["0/0"], None)], [hit]))
    assert found.unseen is None
    (found,) = traffic_from_report(report(graphs[:2], [frame(["0/0"], None)], [replace(hit, eager_calls=6)]))
    assert found.unseen == 6


def test_backward_graphs_and_frames_that_never_changed_say_nothing() -> None:
    still = [graph("0/0", {"x": [8, 4]}, 5), graph("0/1", {"x": [8, 4]}, 5)]
    moving = [replace(graph("1/0", {"x": [n]}, 2), backward=True) for n in (4, 5)]
    assert traffic_from_report(report([*still, *moving])) == []


def test_frames_are_told_apart_and_asked_for_by_name() -> None:
    rare = [graph("0/0", {"x": [8]}, 1), graph("0/1", {"x": [9]}, 1)]
    often = [replace(graph(f"1/{n}", {"x": [n]}, 10), function="step", file="\x1b[2J.py") for n in (4, 5)]
    both = report([*rare, *often])
    assert [found.calls for found in traffic_from_report(both)] == [20, 2]
    assert traffic_of(both).label.startswith("step")
    assert traffic_of(both, "model.py").calls == 2
    with pytest.raises(TrafficError, match="'nowhere'") as raised:
        traffic_of(both, "nowhere")
    assert "forward model.py:12" in str(raised.value)
    assert "\x1b" not in str(raised.value)
    with pytest.raises(TrafficError, match="no frame of this recording"):
        traffic_of(report([]))
