"""Compare a padded artifact with the unpadded graph on real arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from compilescope.bucketing.inner import Artifact

TOLERANCES = {
    torch.float16: 1e-2,
    torch.bfloat16: 5e-2,
    torch.float32: 1e-4,
    torch.float64: 1e-7,
}
"""Relative to the largest entry of a tensor: another size may be summed in another order."""


def difference(
    eager: Artifact, padded: Artifact, arguments: Sequence[Any], *, grad: bool
) -> tuple[str | None, float]:
    """What differs beyond tolerance, None for nothing; and the largest relative difference of all.

    Outputs, arguments written in place and, with ``grad``, gradients are compared. ``arguments`` stay as they
    are; the random state is the same in both runs and put back.
    """
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
    with torch.random.fork_rng(devices):
        expected = _observed(eager, arguments, grad)
    with torch.random.fork_rng(devices):
        actual = _observed(padded, arguments, grad)
    worst = 0.0
    if len(actual) != len(expected):
        return f"{len(actual)} results instead of {len(expected)}", worst
    for (what, ours), (_, theirs) in zip(actual, expected, strict=True):
        reason, relative = _differs(ours, theirs)
        worst = max(worst, relative)
        if reason is not None:
            return f"{what} {reason}", worst
    return None, worst


def _observed(function: Artifact, arguments: Sequence[Any], grad: bool) -> list[tuple[str, Any]]:
    given = [_copy(each) for each in arguments]
    leaves = [each for each in given if isinstance(each, torch.Tensor) and each.requires_grad]
    # A leaf may not be written in place, and a model's inputs often are: the function gets what follows them.
    passed = [each.view_as(each) if _is_input(each) else each for each in given]
    outputs = list(function(*passed))
    found = [(f"output {number}", _value(each)) for number, each in enumerate(outputs)]
    found += [
        (f"argument {number} afterwards", _value(each))
        for number, each in enumerate(passed)
        if not isinstance(each, torch.nn.Parameter)
    ]
    if grad:
        found += [
            (f"gradient {number}", gradient) for number, gradient in enumerate(_gradients(outputs, leaves))
        ]
    return found


def _gradients(outputs: Sequence[Any], leaves: Sequence[torch.Tensor]) -> list[Any]:
    differentiable = [each for each in outputs if isinstance(each, torch.Tensor) and each.requires_grad]
    if not differentiable or not leaves:
        return []
    cotangents = [_cotangent(each) for each in differentiable]
    return list(torch.autograd.grad(differentiable, leaves, cotangents, allow_unused=True))


def _cotangent(output: torch.Tensor) -> torch.Tensor:
    """Varied, so that gradients of rows do not cancel; the same in both runs."""
    count = max(output.numel(), 1)
    ramp = torch.arange(count, device=output.device, dtype=torch.float32).mul_(2.399963)
    return ramp.cos_().to(output.dtype)[: output.numel()].view(output.shape)


def _copy(value: Any) -> Any:
    """Parameters are used as they are: a graph does not write them, and they may fill half the memory."""
    if not isinstance(value, torch.Tensor) or isinstance(value, torch.nn.Parameter):
        return value
    copy = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device)
    copy.copy_(value.detach())
    return copy.requires_grad_(value.requires_grad)


def _is_input(value: Any) -> bool:
    return (
        isinstance(value, torch.Tensor) and value.requires_grad and not isinstance(value, torch.nn.Parameter)
    )


def _value(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _differs(ours: Any, theirs: Any) -> tuple[str | None, float]:
    if not isinstance(theirs, torch.Tensor) or not isinstance(ours, torch.Tensor):
        return (None, 0.0) if ours is theirs or ours == theirs else (f"is {ours}, not {theirs}", 0.0)
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"is {ours.dtype} {tuple(ours.shape)}, not {theirs.dtype} {tuple(theirs.shape)}", 0.0
    if not theirs.dtype.is_floating_point and not theirs.dtype.is_complex:
        return (None, 0.0) if torch.equal(ours, theirs) else ("differs", 0.0)
    if not theirs.numel():
        return None, 0.0
    return _differs_in_numbers(ours.double(), theirs.double(), TOLERANCES.get(theirs.dtype, 1e-4))


def _differs_in_numbers(
    ours: torch.Tensor, theirs: torch.Tensor, tolerance: float
) -> tuple[str | None, float]:
    same = (ours == theirs) | (ours.isnan() & theirs.isnan())
    distance = torch.where(same, torch.zeros_like(ours), (ours - theirs).abs())
    finite = theirs[theirs.isfinite()].abs()
    scale = max(1.0, float(finite.max())) if finite.numel() else 1.0
    relative = float(distance.max()) / scale
    if relative <= tolerance:
        return None, relative
    return f"differs by {relative:.2g} of its largest entry, more than {tolerance:g}", relative


class FirstCall:
    """Stands in for a padded artifact until it has been compared once: serves the unpadded graph's result."""

    def __init__(
        self,
        eager: Artifact,
        padded: Artifact,
        grad: bool,
        outcome: Callable[[str | None, float], None],
    ) -> None:
        self._eager = eager
        self._padded = padded
        self._grad = grad
        self._outcome = outcome

    def __call__(self, *arguments: Any) -> Any:
        try:
            found, worst = difference(self._eager, self._padded, arguments, grad=self._grad)
        except Exception as error:
            found, worst = f"the comparison failed: {type(error).__name__}: {error}", 0.0
        self._outcome(found, worst)
        return self._eager(*arguments)
