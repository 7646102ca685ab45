"""In the user's process: every ``torch.compile`` gets the bucketed backend around the one it asked for."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from compilescope.bucketing import BucketedBackend
from compilescope.ladder import BucketLadder


def wrap_compile(buckets: Sequence[Mapping[str, Any]]) -> None:
    """Put a wrapper into ``torch.compile``. ``buckets``: argument, dim, pins, ranges.

    Graphs without such an argument are compiled as before; ``dynamic=False`` would make rungs impossible and
    is left out.
    """
    torch: Any = sys.modules["torch"]
    original = torch.compile
    ladders = {_name(each): _ladder(each) for each in buckets}
    dims: dict[str, dict[int, str | None]] = {}
    for each in buckets:
        dims.setdefault(each["argument"], {})[int(each["dim"])] = _name(each)

    @functools.wraps(original)
    def compile(model: Any = None, **how: Any) -> Any:
        backend = how.get("backend", "inductor")
        # As a decorator factory torch.compile comes back here with the function.
        if model is None or how.get("disable") or isinstance(backend, BucketedBackend):
            return original(model, **how)
        inductor = backend == "inductor"
        mode, options = how.pop("mode", None), how.pop("options", None)
        wrapped = BucketedBackend(
            ladders,
            dims,
            inner=backend,
            mode=mode if inductor else None,
            options=options if inductor else None,
        )
        return original(model, **{**how, "backend": wrapped, "dynamic": how.get("dynamic") or None})

    torch.compile = compile


def _name(each: Mapping[str, Any]) -> str:
    return f"{each['argument']}.size({each['dim']})"


def _ladder(each: Mapping[str, Any]) -> BucketLadder:
    ladder = BucketLadder.pins(each["pins"])
    for low, high, hint in each["ranges"]:
        ladder |= BucketLadder.range(low, high, hint)
    return ladder
