from __future__ import annotations

import timeit
from typing import Any

import pytest
import torch

from compilescope.bucketing.dispatch import Dispatch, Served
from compilescope.bucketing.inner import CompileNotes, InnerCompiler, boxed_form


def artifact_of(function: Any, *arguments: torch.Tensor) -> Any:
    graph_module = torch.fx.symbolic_trace(function)
    return InnerCompiler("aot_eager").compile(graph_module, arguments, CompileNotes())


def test_an_artifact_of_aot_autograd_takes_its_arguments_in_a_list() -> None:
    x = torch.randn(3)
    boxed = boxed_form(artifact_of(lambda x, y: [x + y], x, x))
    assert boxed is not None
    (output,) = boxed([x, x])
    torch.testing.assert_close(output, 2 * x)


class WithTensors(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.full((3,), 4.0))

    def forward(self, x: torch.Tensor) -> Any:
        return [x * self.scale]


@pytest.mark.parametrize("other", [lambda *a: a, torch.nn.Linear(2, 2), print])
def test_what_is_not_aot_autograds_has_no_such_form(other: Any) -> None:
    assert boxed_form(other) is None


def test_an_artifact_that_adds_tensors_of_its_own_has_no_such_form() -> None:
    artifact = artifact_of(WithTensors(), torch.randn(3))
    assert boxed_form(artifact) is None


def test_dispatch_of_many_arguments_costs_no_more_than_the_artifact_alone() -> None:
    """The arguments are packed once: what is saved inside pays for the look-up."""
    names = [f"x{number}" for number in range(300)]
    scope: dict[str, Any] = {}
    exec(f"def function({', '.join(names)}): return [x0 + x299]", scope)
    arguments = [torch.zeros(()) for _ in names]
    artifact = artifact_of(scope["function"], *arguments)
    # Size 16 * 51 stands where a SymInt would: the artifact does not read it.
    dispatch = Dispatch(["16 * 51"], Served("eager", "eager", artifact), artifact)
    for k in range(1, 52):
        dispatch.add_pin([16 * k], Served(str(16 * k), "exact", artifact))
    dispatch.arm()

    def best_us(call: Any) -> float:
        return min(timeit.repeat(lambda: call(*arguments), number=100, repeat=30)) / 100 * 1e6

    with torch.no_grad():
        plain, dispatched = best_us(artifact), best_us(dispatch.function)
    assert dispatched < 1.25 * plain
    assert [count for *_, count in dispatch.counted() if count] == [3000]
