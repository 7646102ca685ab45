from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))

with warnings.catch_warnings():
    # Importing Inductor warns of torch's own use of what torch deprecates.
    warnings.simplefilter("ignore")
    import torch._inductor.compile_fx


@pytest.fixture(autouse=True)
def fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


@pytest.fixture(autouse=True)
def quiet_trace() -> Iterator[None]:
    """pytest listens on the root logger, for which torch would format every graph it traces."""
    logger = logging.getLogger("torch.__trace")
    logger.propagate, before = False, logger.propagate
    yield
    logger.propagate = before


@dataclass
class Observed:
    """All that a caller can see of one call."""

    outputs: list[torch.Tensor]
    numbers: list[Any]
    inputs_after: list[torch.Tensor]
    gradients: list[torch.Tensor | None]
    shares_storage: list[list[bool]]


def observe(
    function: Callable[..., Any], arguments: Sequence[Any], parameters: Sequence[torch.Tensor]
) -> Observed:
    for parameter in parameters:
        parameter.grad = None
    result = function(*arguments)
    flat = list(result) if isinstance(result, (tuple, list)) else [result]
    outputs = [value for value in flat if isinstance(value, torch.Tensor)]
    tensors = [value for value in arguments if isinstance(value, torch.Tensor)]
    differentiable = [value for value in outputs if value.requires_grad]
    if differentiable:
        # A fixed cotangent: with plain sums a normalization's gradient is rounding noise.
        loss = sum((value.float() * _cotangent(value)).sum() for value in differentiable)
        loss.backward()
    leaves = [*parameters, *(t for t in tensors if t.is_leaf)]
    return Observed(
        outputs,
        [value for value in flat if not isinstance(value, torch.Tensor)],
        [tensor.detach().clone() for tensor in tensors],
        [None if leaf.grad is None else leaf.grad.clone() for leaf in leaves],
        [
            [a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() for b in tensors]
            for a in outputs
        ],
    )


def _cotangent(value: torch.Tensor) -> torch.Tensor:
    generator = torch.Generator().manual_seed(value.numel())
    return torch.randn(value.shape, generator=generator)


def assert_same(actual: Observed, expected: Observed, tolerance: float) -> None:
    assert actual.numbers == expected.numbers
    assert actual.shares_storage == expected.shares_storage
    assert [t.requires_grad for t in actual.outputs] == [t.requires_grad for t in expected.outputs]
    assert [t.stride() for t in actual.outputs] == [t.stride() for t in expected.outputs]
    for group in ("outputs", "inputs_after", "gradients"):
        ours, theirs = getattr(actual, group), getattr(expected, group)
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            assert (a is None) == (b is None), group
            if a is not None:
                assert a.dtype == b.dtype
                assert a.shape == b.shape
                scale = max(1.0, b.detach().float().abs().max().item()) if b.numel() else 1.0
                torch.testing.assert_close(a.float(), b.float(), rtol=tolerance, atol=tolerance * scale)


Check = Callable[..., None]


@pytest.fixture
def check() -> Check:
    """check(eager, compiled, make_arguments): same outputs, inputs, gradients, strides and aliasing."""

    def run(
        eager: Callable[..., Any],
        compiled: Callable[..., Any],
        make: Callable[[], Sequence[Any]],
        parameters: Sequence[torch.Tensor] = (),
        tolerance: float = 1e-4,
    ) -> None:
        torch.manual_seed(1)
        expected = observe(eager, make(), parameters)
        torch.manual_seed(1)
        actual = observe(compiled, make(), parameters)
        assert_same(actual, expected, tolerance)

    return run
