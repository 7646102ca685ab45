from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from compilescope.bucketing.compile import CapturedGraph
from compilescope.bucketing.identify import Placeholder, placeholders, shape_env_of


@dataclass
class Traced:
    """A graph as a backend gets it from Dynamo."""

    captured: CapturedGraph
    examples: list[Any]

    @property
    def inputs(self) -> tuple[Placeholder, ...]:
        return self.captured.inputs

    @property
    def shape_env(self) -> Any:
        return self.captured.shape_env

    def symbol(self, source: str) -> Any:
        for each in self.inputs:
            if each.source == source:
                return each.value.node.expr
        raise LookupError(f"no {source} among {[each.source for each in self.inputs]}")


Trace = Callable[..., Traced]


@pytest.fixture
def trace() -> Iterator[Trace]:
    """trace(function, tensor, dims=[0]): what Dynamo hands a backend for this call, dims marked dynamic."""
    torch._dynamo.reset()

    def run(function: Callable[..., Any], *arguments: Any, dims: Sequence[int] = (0,)) -> Traced:
        found: list[Traced] = []

        def backend(graph_module: torch.fx.GraphModule, examples: list[Any]) -> Any:
            inputs = placeholders(graph_module)
            captured = CapturedGraph.of(graph_module, inputs, examples, shape_env_of(inputs), None)
            found.append(Traced(captured, examples))
            return graph_module.forward

        for argument in arguments:
            if isinstance(argument, torch.Tensor):
                torch._dynamo.maybe_mark_dynamic(argument, [dim for dim in dims if dim < argument.dim()])
        torch.compile(function, backend=backend)(*arguments)
        return found[0]

    yield run
    torch._dynamo.reset()
