"""A compiler that decides by its hint: sizes that fail its condition have an artifact of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from compilescope.bucketing import bucketed
from compilescope.ladder import BucketLadder

SIZES = (2, 7, 8, 9, 16, 31, 32, 33, 63, 64)
Choice = Callable[[Any], Any]


class Compiler:
    """Stands for an inner compiler with kernels for aligned sizes: what it asks of a size becomes a guard."""

    def __init__(self, choice: Choice) -> None:
        self.made: list[str] = []
        self.called: list[str] = []
        self._choice = choice

    def __call__(self, graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        size = next(each for each in inputs if isinstance(each, torch.Tensor)).shape[0]
        kind = str(self._choice(size))
        self.made.append(kind)

        def run(*arguments: Any) -> Any:
            self.called.append(kind)
            return graph(*arguments)

        return run


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * 2).relu() + x.shape[0]


CHOICES: dict[str, tuple[Choice, int]] = {
    "aligned": (lambda n: bool(n % 8 == 0), 2),
    "two alignments": (lambda n: "16" if n % 16 == 0 else "8" if n % 8 == 0 else "1", 3),
    "large": (lambda n: bool(n >= 32), 2),
    "large and aligned": (lambda n: (bool(n >= 32), bool(n % 8 == 0)), 4),
    "nothing": (lambda n: "any", 1),
}


@torch.no_grad()
@pytest.mark.parametrize("hint", [13, 16, 40])
@pytest.mark.parametrize("fallback", ["dynamic", "eager"])
@pytest.mark.parametrize("name", CHOICES)
def test_every_size_of_a_range_is_served_by_code_that_is_for_it(name: str, fallback: Any, hint: int) -> None:
    choice, kinds = CHOICES[name]
    compiler, net = Compiler(choice), Model()
    ladder = BucketLadder.range(2, 64, hint=hint).within(2, 64)
    model = bucketed(net, ladder, {"x": {0: "n"}}, inner=compiler, fallback=fallback)
    model.warm_up(torch.randn(5, 4), grad=False)
    made = len(compiler.made)
    assert len(set(compiler.made)) == kinds
    compiler.called.clear()
    for size in SIZES:
        x = torch.randn(size, 4)
        assert torch.equal(model(x), net(x))
    assert compiler.called == [str(choice(size)) for size in SIZES]
    assert len(compiler.made) == made
    assert "0 by dynamic, 0 by eager" in str(model.explain())
    if kinds > 1 and name == "aligned":
        assert f"part of 2..64@{hint}; only where (n % 8)" in str(model.explain())


@torch.no_grad()
def test_a_dynamic_artifact_has_no_gap_either() -> None:
    compiler, net = Compiler(lambda n: bool(n % 8 == 0)), Model()
    model = bucketed(net, BucketLadder.pins([5]).within(2, 64), {"x": {0: "n"}}, inner=compiler)
    model.warm_up(torch.randn(5, 4), grad=False)
    compiler.called.clear()
    for size in SIZES:
        x = torch.randn(size, 4)
        assert torch.equal(model(x), net(x))
    assert compiler.called == [str(size % 8 == 0) for size in SIZES]


@torch.no_grad()
def test_as_many_kinds_as_sizes_end() -> None:
    compiler, net = Compiler(lambda n: int(n) % 64), Model()
    model = bucketed(net, BucketLadder.range(2, 64, hint=13), {"x": {0: "n"}}, inner=compiler)
    model.warm_up(torch.randn(5, 4), grad=False)
    assert len(compiler.made) < 30
    for size in SIZES:
        x = torch.randn(size, 4)
        assert torch.equal(model(x), net(x))
