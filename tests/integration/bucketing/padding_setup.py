"""What tests of padding share: a ladder of pads, inputs of so many rows, and what became of the calls."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from compilescope.bucketing import Pad, bucketed
from compilescope.ladder import BucketLadder
from compilescope.observer import RungRefused

LADDER = BucketLadder.pads([8, 16])
SIZES = (5, 8, 11, 16)

Function = Callable[..., Any]

WEIGHT = torch.randn(6, 6)
TABLE = torch.randn(10, 6)
POSITIONS = torch.randn(64, 6)

X = [Pad("x", 0, 0.5)]
X0 = [Pad("x", 0, 0.0)]
X1 = [Pad("x", 1, 0.0)]
XM = [Pad("x", 0, 0.0), Pad("m", 0, False)]


def padded(function: Function, contracts: list[Pad], **options: Any) -> Any:
    dims: dict[str, dict[int, str | None]] = {}
    for each in contracts:
        dims.setdefault(each.arg, {})[each.dim] = "n"
    return bucketed(function, LADDER, dims, pad=contracts, **{"inner": "aot_eager", **options})


def served(model: Any) -> dict[str, int]:
    """Calls by outcome."""
    found: dict[str, int] = {}
    for count in model.backend.dispatch_counts():
        found[count.outcome] = found.get(count.outcome, 0) + count.count
    return {outcome: count for outcome, count in found.items() if count}


def events(model: Any, kind: type) -> list[Any]:
    return [event for event in model.backend.events() if isinstance(event, kind)]


def refusals(model: Any) -> list[RungRefused]:
    return events(model, RungRefused)


def rows(n: int) -> list[Any]:
    return [torch.randn(n, 6)]


def batched(n: int) -> list[Any]:
    return [torch.randn(3, n, 6)]


def with_mask(n: int) -> list[Any]:
    mask = torch.ones(n, dtype=torch.bool)
    mask[n // 2] = False
    return [torch.randn(n, 6), mask]


def ids(n: int) -> list[Any]:
    return [torch.randint(0, 10, (n,))]


def heads(x: torch.Tensor) -> torch.Tensor:
    return x.view(3, -1, 2, 3).transpose(1, 2)


def places(x: torch.Tensor) -> torch.Tensor:
    return torch.arange(x.shape[0])


def attention_where(x: torch.Tensor, seen: torch.Tensor, hidden: float = float("-inf")) -> torch.Tensor:
    """Attention written out, over the keys of which ``seen`` is true."""
    return (x @ x.t()).masked_fill(~seen, hidden).softmax(-1) @ x


def assert_refused(
    check: Callable[..., None],
    function: Function,
    make: Callable[[int], list[Any]],
    contracts: list[Pad],
    reason: str,
) -> None:
    """Refused for both rungs with ``reason`` and the function's own line, and served without padding."""
    model = padded(function, contracts)
    with torch.no_grad():
        for size in (5, 11):
            check(function, model, lambda n=size: make(n))
    found = refusals(model)
    assert [event.rung for event in found[:2]] == ["<=8", "<=16"]
    assert reason in found[0].reason
    assert Path(function.__code__.co_filename).name in (found[0].user_line or "")
    assert served(model) == {"dynamic": 2}
