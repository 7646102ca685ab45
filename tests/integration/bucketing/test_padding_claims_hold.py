"""What is claimed of tensors while a graph is followed holds for every entry of a real padded run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import sympy
import torch
import torch.nn.functional as F
from padding_setup import WEIGHT, padded, places
from torch.utils._python_dispatch import TorchDispatchMode

from compilescope.bucketing import Pad
from compilescope.bucketing.padding.operation import Operation, tensors_in
from compilescope.bucketing.padding.rows import Axis, Rows
from compilescope.bucketing.padding.tracker import RowTracker
from compilescope.bucketing.padding.values import INF, Values

REAL, PADDED = 5, 8

Op = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

# Each takes and gives (rows, 6); m is a mask of the rows, padded with False.
OPS: dict[str, Op] = {
    "affine": lambda x, m: x * 0.5 + 1,
    "less": lambda x, m: x - 1,
    "relu": lambda x, m: x.relu(),
    "clamped": lambda x, m: x.clamp(min=-0.5).clamp(max=2.0),
    "squashed": lambda x, m: x.tanh().sigmoid(),
    "cubed": lambda x, m: x.pow(3),
    "masked": lambda x, m: x.masked_fill(~m[:, None], float("-inf")),
    "masked low": lambda x, m: torch.where(m[:, None], x, torch.finfo(torch.float32).min) + x,
    "unmasked": lambda x, m: torch.nan_to_num(x),
    "product": lambda x, m: x @ WEIGHT,
    "biased": lambda x, m: torch.addmm(torch.ones(6), x, WEIGHT),
    "softmax": lambda x, m: x.softmax(1),
    "softmax of rows": lambda x, m: x.masked_fill(~m[:, None], float("-inf")).softmax(0),
    "logarithm": lambda x, m: x.relu().log(),
    "normalized": lambda x, m: F.layer_norm(x, (6,)),
    "without the last": lambda x, m: torch.cat([x[:1], x[:-1]]),
    "without the first": lambda x, m: F.pad(x[1:], (0, 0, 1, 0), value=2.0),
    "moved down": lambda x, m: F.pad(x, (0, 0, 1, -1)),
    "columns of ones": lambda x, m: F.pad(x, (1, 1), value=1.0)[:, :6],
    "gated": lambda x, m: F.glu(torch.cat([x, x], 1), 1),
    "sorted": lambda x, m: x.sort(1)[0],
    "order": lambda x, m: x.sort(1)[1].float(),
    "largest": lambda x, m: x.max(1, keepdim=True)[0].expand(-1, 6) * 1,
    "place of the largest": lambda x, m: x.max(1, keepdim=True)[1].expand(-1, 6).float(),
    "mean and variance": lambda x, m: torch.cat([*torch.var_mean(x, 1, keepdim=True)] * 3, 1),
    "cumulated": lambda x, m: x.cumsum(0),
    "by place": lambda x, m: x * (places(x) + 2)[:, None],
    "inverted": lambda x, m: (~m.int())[:, None] + x,
    "written in part": lambda x, m: _written(x * 1),
    "causal": lambda x, m: _attention(x, places(x)[None] <= places(x)[:, None]),
    "causal, with an offset": lambda x, m: _attention(x, places(x)[None] + 2 < places(x)[:, None] + 3),
    "triangle": lambda x, m: _attention(x, torch.ones(x.shape[0], x.shape[0]).tril() != 0),
    "other triangle": lambda x, m: _attention(x, torch.ones(x.shape[0], x.shape[0]).triu(1) == 0),
    "filled up": lambda x, m: (_filled_up(x, 2.0).tanh() * 2)[: x.shape[0]],
    "filled up with its like": lambda x, m: _filled_up(x, 0.0)[: x.shape[0]],
    "filled up and masked": lambda x, m: (
        _filled_up(x, 1.0).masked_fill(~F.pad(m, (0, 8 - m.shape[0] % 8))[:, None], float("-inf")).softmax(0)
    )[: x.shape[0]],
    "constants behind": lambda x, m: torch.cat([torch.zeros(1, 6), x, x.new_ones(-x.shape[0] % 16, 6)]).exp()[
        1 : x.shape[0] + 1
    ],
    "in a square": lambda x, m: F.pad(x @ x.t(), (0, 0, 1, 0), value=3.0).tril()[1:] @ x.relu() * 0 + x,
}


def _attention(x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    return (x @ WEIGHT @ x.t() + torch.zeros(seen.shape).masked_fill(~seen, float("-inf"))).softmax(1) @ x


def _filled_up(x: torch.Tensor, value: float) -> torch.Tensor:
    return F.pad(x, (0, 0, 0, 8 - x.shape[0] % 8), value=value)


def _written(x: torch.Tensor) -> torch.Tensor:
    x[:, :2].fill_(3.0)
    return x


@dataclass
class Claim:
    operation: str
    rows: list[Rows]
    symbol: Any


@pytest.fixture
def claims(monkeypatch: pytest.MonkeyPatch) -> list[Claim]:
    """What was claimed of the results of each operation, up to the first that was refused."""
    made: list[Claim] = []
    follow = RowTracker.follow

    def noting(tracker: RowTracker, operation: Operation) -> None:
        follow(tracker, operation)
        rows = [tracker.rows(each) for each in tensors_in(operation.result)]
        made.append(Claim(operation.name, rows, tracker.symbol))

    monkeypatch.setattr(RowTracker, "follow", noting)
    return made


class Real(TorchDispatchMode):  # type: ignore[misc]
    """The results of each operation, as the tracker would see them."""

    def __init__(self) -> None:
        super().__init__()
        self.results: list[tuple[str, list[torch.Tensor]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        operation = Operation(None, func, {}, result)  # type: ignore[arg-type]
        self.results.append((operation.name, [each.clone() for each in tensors_in(result)]))
        return result


def holds(values: Values, entries: torch.Tensor) -> bool:
    numbers = entries.double()
    known = numbers[~numbers.isnan()]
    slack = 1e-5 * max(1.0, float(known[known.isfinite()].abs().max()) if known.isfinite().any() else 1.0)
    return (
        (not values.finite or bool(numbers.isfinite().all()))
        and (not values.number or not bool(numbers.isnan().any()))
        and (not values.below_inf or not bool((numbers == torch.inf).any()))
        and (not known.numel() or values.low - slack <= float(known.min()))
        and (not known.numel() or float(known.max()) <= values.high + slack)
    )


def assert_holds(claim: Claim, rows: Rows, tensor: torch.Tensor) -> None:
    assert len(rows.axes) == tensor.dim(), claim.operation
    found = [_places(axis, tensor, dim, claim) for dim, axis in enumerate(rows.axes)]
    behind, place = [each[0] for each in found], [each[1] for each in found]
    assert holds(rows.whole, tensor), (claim.operation, rows.whole, tensor)
    for dim, axis in enumerate(rows.axes):
        if axis is None:
            continue
        others = [each for other, each in enumerate(behind) if other != dim]
        facing = behind[dim].clone()
        for each in others:
            facing &= ~each
        assert holds(axis.pads, tensor[behind[dim]]), (claim.operation, axis.pads, tensor)
        assert holds(axis.seen, tensor[facing]), (claim.operation, axis.seen, tensor)
        if axis.first is not None:
            assert torch.equal(tensor.long(), place[dim] + axis.first), claim.operation


def assert_all_hold(claims: list[Claim], results: list[tuple[str, list[torch.Tensor]]]) -> None:
    """In step: what Dynamo adds has no counterpart in the real run. It cuts into other slices than eager."""
    position, held = 0, 0
    claims = [each for each in claims if each.operation != "slice"]
    for claim in claims:
        names = [name for name, _ in results[position:]]
        if claim.operation in names:
            position += names.index(claim.operation) + 1
            for rows, tensor in zip(claim.rows, results[position - 1][1], strict=True):
                assert_holds(claim, rows, tensor)
            held += 1
    assert 3 * held >= 2 * len(claims)


def _places(
    axis: Axis | None, tensor: torch.Tensor, dim: int, claim: Claim
) -> tuple[torch.Tensor, torch.Tensor]:
    """Which entries lie behind the real rows of an axis, and the place of each along it."""
    if axis is None:
        return torch.zeros(tensor.shape, dtype=torch.bool), torch.zeros(tensor.shape, dtype=torch.long)

    def at(size: Any, n: int) -> int:
        return int(sympy.sympify(size).subs(claim.symbol, n))

    rows = at(axis.rows, PADDED)
    behind = at(axis.tail, PADDED)
    assert at(axis.outer, PADDED) * rows * at(axis.inner, PADDED) + behind == tensor.shape[dim], (
        claim.operation
    )
    place = torch.arange(tensor.shape[dim]) // at(axis.inner, PADDED) % (rows + behind)
    place = place.view([-1 if each == dim else 1 for each in range(tensor.dim())]).expand(tensor.shape)
    return place >= at(axis.rows, REAL), place


@pytest.mark.parametrize("name", OPS)
def test_claims_hold_in_a_padded_run(name: str, claims: list[Claim]) -> None:
    for value, then in ((0.0, "without the last"), (-INF, "columns of ones")):

        def f(x: torch.Tensor, m: torch.Tensor, then: str = then) -> torch.Tensor:
            return OPS[then](OPS[name](x, m), m)

        torch._dynamo.reset()
        claims.clear()
        x, mask = torch.randn(REAL, 6), torch.arange(REAL) != 2
        longer = F.pad(x, (0, 0, 0, PADDED - REAL), value=value), F.pad(mask, (0, PADDED - REAL), value=False)
        with torch.no_grad():
            padded(f, [Pad("x", 0, value), Pad("m", 0, False)], inner="eager", fallback="eager")(x, mask)
            with Real() as real:
                f(*longer)
        assert_all_hold(claims, real.results)
