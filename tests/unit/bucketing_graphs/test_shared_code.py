"""cuda_graphs="shared": one dynamic artifact, recorded at each static rung's sizes."""

from __future__ import annotations

from typing import Any

import torch

from compilescope.bucketing import bucketed
from compilescope.bucketing.graphs.session import TUNING
from compilescope.ladder import BucketLadder
from compilescope.observer import RungCompiled

PINS = BucketLadder.pins([4, 8, 16])
ROWS = {"x": {0: "n"}}


def compiled(model: Any) -> dict[str, RungCompiled]:
    return {e.rung: e for e in model.backend.events() if isinstance(e, RungCompiled)}


@torch.no_grad()
def test_one_compile_and_a_recording_per_rung(graphed: Any) -> None:
    made: list[Any] = []

    def inner(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        made.append(inputs)
        return graph.forward

    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU())
    model, recorder = graphed(net, PINS, {"input": {0: "n"}}, share_code=True, inner=inner)
    model.warm_up(torch.randn(7, 8), grad=False)
    assert len(made) == 1
    assert len(recorder.made) == 3
    assert {rung: event.same_code_as for rung, event in compiled(model).items()} == {
        "dynamic": None,
        "4": "dynamic",
        "8": "dynamic",
        "16": "dynamic",
    }
    for size in (16, 4, 5, 8):
        x = torch.randn(size, 8)
        torch.testing.assert_close(model(x), net(x))
    lines = {line.rung: line for line in model.backend.graphs.report().lines}
    assert [lines[rung].replays for rung in ("4", "8", "16")] == [2, 2, 2]
    assert [reason for reason, _ in lines["8"].plainly] == [TUNING]


@torch.no_grad()
def test_a_rung_is_recorded_from_the_dynamic_artifact_that_is_for_it(graphed: Any) -> None:
    """Tuned at an odd size, with code for odd sizes alone: multiples of 4 share the other artifact."""
    made: list[Any] = []

    def inner(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        size = next(each for each in inputs if not isinstance(each, torch.Tensor))
        made.append(bool(size % 4 == 0))  # on a symbol this is a guard
        return graph.forward

    ladder = BucketLadder.pins([4, 7, 8, 15, 16])
    model, recorder = graphed(lambda x: x.sin(), ladder, ROWS, share_code=True, inner=inner)
    model.warm_up(torch.randn(7, 8), grad=False)
    assert sorted(made) == [False, True]
    shared = {rung: event.same_code_as for rung, event in compiled(model).items()}
    assert shared["7"] == shared["15"] != shared["4"] == shared["8"] == shared["16"]
    assert len(recorder.made) == 5
    for size in (4, 7, 15, 16, 9):
        x = torch.randn(size, 8)
        torch.testing.assert_close(model(x), x.sin())


@torch.no_grad()
def test_a_rung_the_dynamic_artifact_is_not_valid_for_gets_its_own(graphed: Any) -> None:
    def inner(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        size = next(each for each in inputs if not isinstance(each, torch.Tensor))
        assert size <= 12 or isinstance(size, int)  # on a symbol this is a guard
        return graph.forward

    model, recorder = graphed(lambda x: x.sin(), PINS, ROWS, share_code=True, inner=inner)
    model.warm_up(torch.randn(7, 8), grad=False)
    assert compiled(model)["8"].same_code_as == "dynamic"
    assert compiled(model)["16"].same_code_as is None
    x = torch.randn(16, 8)
    torch.testing.assert_close(model(x), x.sin())
    assert len(recorder.made) == 3


def test_where_no_graph_can_be_recorded_rungs_are_compiled(graphed: Any) -> None:
    net = torch.nn.Linear(8, 8)
    model, _ = graphed(net, PINS, {"input": {0: "n"}}, share_code=True)
    x = torch.randn(8, 8)
    model(x).sum().backward()
    assert all(event.same_code_as is None for event in compiled(model).values())


def test_on_a_machine_without_cuda_the_reason_is_told() -> None:
    model = bucketed(lambda x: x * 2, PINS, ROWS, inner="eager", cuda_graphs="shared")
    x = torch.randn(8, 8)
    torch.testing.assert_close(model(x), x * 2)
    assert "16: none: not a CUDA device: input" in str(model.backend.graphs)
