"""However a model is given its tensors: after a warm-up nothing compiles, and results are eager's."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch

from compilescope.bucketing import Pad, bucketed
from compilescope.ladder import BucketLadder

PINS = BucketLadder.pins([8, 16]) | BucketLadder.range(2, 24)
PADS = BucketLadder.pads([8, 24])
SIZES = (2, 5, 8, 13, 16, 24)
WEIGHT = torch.randn(6, 6)


@dataclasses.dataclass
class Batch:
    x: torch.Tensor
    note: str = "kept"


def of_dict(batch: dict[str, Any]) -> dict[str, Any]:
    return {"y": batch["x"] @ WEIGHT, "rows": batch["x"].shape[0]}


def of_list(xs: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    return tuple(x @ WEIGHT for x in xs)


def of_dataclass(batch: Batch) -> Batch:
    return Batch(batch.x @ WEIGHT)


def of_keywords(**given: torch.Tensor) -> torch.Tensor:
    return given["x"] @ WEIGHT


def of_positions(*given: torch.Tensor) -> torch.Tensor:
    return given[0] @ WEIGHT


class Wrapped(torch.nn.Module):
    """As models of transformers are: a decorator looks at how it was called before the model does."""

    def forward(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        if len(args) == 1:
            return self.inner(args[0])
        return self.inner(*args, **kwargs)

    def inner(self, x: torch.Tensor, m: torch.Tensor | None = None) -> torch.Tensor:
        return x @ WEIGHT if m is None else x @ WEIGHT * m[:, None]


Make = Callable[[torch.Tensor], tuple[tuple[Any, ...], dict[str, Any]]]

FORMS: dict[str, tuple[Any, str, Make]] = {
    "dict": (of_dict, "batch['x']", lambda x: (({"x": x},), {})),
    "list": (of_list, "xs[0]", lambda x: (([x, torch.ones(6, 6)],), {})),
    "dataclass": (of_dataclass, "batch.x", lambda x: ((Batch(x),), {})),
    "keywords": (of_keywords, "x", lambda x: ((), {"x": x})),
    "positions": (of_positions, "given[0]", lambda x: ((x,), {})),
    "decorated, by position": (Wrapped(), "args[0]", lambda x: ((x,), {})),
    "decorated, by name": (Wrapped(), "x", lambda x: ((), {"x": x})),
    "decorated, with a mask": (Wrapped(), "x", lambda x: ((), {"x": x, "m": None})),
}


def tensors(result: Any) -> list[Any]:
    if dataclasses.is_dataclass(result):
        return [result.x]  # type: ignore[attr-defined]
    return list(result.values()) if isinstance(result, dict) else [*result]


@pytest.mark.parametrize("padded", [False, True], ids=["pins", "pads"])
@pytest.mark.parametrize("form", FORMS)
def test_nothing_compiles_after_a_warm_up(form: str, padded: bool) -> None:
    function, name, make = FORMS[form]
    pad = {"pad": [Pad(name, 0, 0.5)], "fallback": "eager"} if padded else {}
    model = bucketed(function, PADS if padded else PINS, {name: {0: "n"}}, inner="aot_eager", **pad)
    arguments, by_name = make(torch.randn(3, 6))
    done = model.warm_up(*arguments, grad=False, **by_name)
    assert (done.refused, done.failed) == (0, 0)
    with torch.no_grad(), torch.compiler.set_stance("fail_on_recompile"):
        for size in SIZES:
            arguments, by_name = make(torch.randn(size, 6))
            expected = tensors(function(*arguments, **by_name))
            for ours, theirs in zip(tensors(model(*arguments, **by_name)), expected, strict=True):
                torch.testing.assert_close(ours, theirs)
    outcomes = {count.outcome for count in model.backend.dispatch_counts() if count.count}
    assert outcomes == ({"padded", "exact"} if padded else {"range", "exact"})
