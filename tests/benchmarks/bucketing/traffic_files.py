"""The traffic files, and how much of each a run has time for."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from compilescope.ladder.planner import CostPoint, Costs, Curve, Limits, Surface, Traffic
from compilescope.ladder.planner.joint import ones_padded

Size = tuple[int, ...]
FOLDER = Path(__file__).parents[3] / "fixtures" / "traffic"


@dataclass(frozen=True)
class File:
    """``dims`` are the leading dimensions a request's size is of. ``cpu_divisors`` make it tiny for a CPU.

    ``requests`` are served in the traffic part, ``predicted`` in the predicting one; where ``is_sampled``
    they are spread evenly over the later half, else its first ones. A call of ``trains`` is a training step.
    ``points`` is how finely the cost is measured along each dim.
    """

    name: str
    dims: tuple[str, ...] = ("tokens",)
    blocks: int = 4
    requests: int = 300
    predicted: int = 1500
    unseen: int = 20
    rungs: int = 8
    predict_rungs: int = 5
    align: int = 8
    is_sampled: bool = False
    trains: bool = False
    points: tuple[int, ...] = (7,)
    cpu_divisors: tuple[int, ...] = (16,)

    def sizes(self, device: str) -> list[Size]:
        rows = json.loads((FOLDER / f"{self.name}.json").read_text())["sizes"]
        sizes = [tuple(row) if isinstance(row, list) else (row,) for row in rows]
        if device != "cuda":
            sizes = [tuple(_tiny(n, by) for n, by in zip(s, self.cpu_divisors, strict=True)) for s in sizes]
        return [with_a_free_size(size) for size in sizes]

    def taken(self, late: Sequence[Size], count: int) -> list[Size]:
        step = max(len(late) // count, 1) if self.is_sampled else 1
        return list(late[::step][:count])

    def never_seen(self, sizes: Sequence[Size], requests: Sequence[Size], count: int) -> list[Size]:
        """Of several dims those that came at other times; of one dim any between the requests' ends."""
        known = set(requests)
        if len(self.dims) > 1:
            others = sorted(set(sizes) - known)
        else:
            (low,), (high,) = min(requests), max(requests)
            others = [(n,) for n in range(low, high) if (n,) not in known]
        return random.Random(0).sample(others, min(count, len(others)))

    def traffic(self, sizes: Sequence[Size]) -> Traffic:
        return Traffic.of([list(size) for size in sizes], names=self.dims, label=self.name)

    def limits(self, rungs: int, sizes: Sequence[Size], device: str) -> Limits:
        align = self.align if device == "cuda" else 1
        return Limits(max_rungs=rungs, align=align, maximum=max(size[-1] for size in sizes))

    def grid(self, early: Sequence[Size], sizes: Sequence[Size], device: str) -> list[Size]:
        """Where the cost is measured: for several dims all combinations."""
        align = self.align if device == "cuda" else 1
        axes = [
            _axis([size[dim] for size in early], [size[dim] for size in sizes], align, points)
            for dim, points in enumerate(self.points if device == "cuda" else (3,) * len(self.dims))
        ]
        return list(product(*axes))


FILES = {
    file.name: file
    for file in (
        File("bimodal"),
        File("lognormal_drift"),
        # No alignment: a decoding step of length 1 would become one of 8. The rungs are combinations.
        File("batch_length", ("batch", "length"), predicted=400, rungs=8, predict_rungs=8, align=1,
             points=(5, 7), cpu_divisors=(8, 64)),
        File("packed_sft", blocks=2, requests=24, predicted=40, unseen=8, rungs=5, is_sampled=True,
             trains=True, cpu_divisors=(1024,)),
    )
}  # fmt: skip


def _axis(early: Sequence[int], sizes: Sequence[int], align: int, points: int) -> list[int]:
    """Quantiles, even steps of the logarithm, and as far as powers of two pad; all of few distinct sizes."""
    distinct, low, high = sorted(set(sizes)), min(sizes), max(sizes)
    top = 1 << (high - 1).bit_length()
    if len(distinct) <= 2 * points:
        kept = {round(k * (len(distinct) - 1) / (points - 1)) for k in range(points)}
        return sorted({*(distinct[k] for k in kept), top})
    ordered, last = sorted(n for n in early if n > 1), points - 1
    at = [ordered[int((len(ordered) - 1) * k / last)] for k in range(points)]
    at += [round(low * (high / low) ** (k / last)) for k in range(points)]
    # Without this point the curve would have to be extrapolated.
    at.append(top)
    return sorted({-(-n // align) * align for n in at})


def _tiny(size: int, divisor: int) -> int:
    return 1 if size == 1 else max(2, size // divisor)


def with_a_free_size(size: Size) -> Size:
    """A request of nothing but ones gets a second row: without a free size Dynamo's graph has no rungs."""
    return size if len(size) == 1 or max(size) > 1 else (2, *size[1:])


def rung_of(size: Size, rungs: Sequence[Size]) -> Size | None:
    """Which of ``rungs`` serves ``size``, by the rule of the dispatch: the smallest that holds it.

    Dynamo makes a size of 1 a constant, so that a rung with that 1 comes before all others.
    """
    holding = [rung for rung in rungs if all(n <= most for n, most in zip(size, rung, strict=True))]
    return min(holding, key=lambda rung: (ones_padded(size, rung), prod(rung), rung), default=None)


def combinations(sizes: Sequence[Size], rungs: Sequence[Size]) -> list[Size]:
    """The rungs that some of ``sizes`` need: nothing is compiled for the others."""
    return sorted({found for size in sizes if (found := rung_of(size, rungs)) is not None})


def rungs_of(ladder: Any) -> list[Size]:
    """The sizes of all pads; of two dims the combinations, whether chosen or of a product."""
    if hasattr(ladder, "pad_rungs"):
        return [(rung.size,) for rung in ladder.pad_rungs]
    return sorted(ladder.static_rungs)


def in_words(rungs: Sequence[Size]) -> str:
    return ", ".join("x".join(map(str, rung)) for rung in rungs)


def measured_costs(points: Sequence[dict[str, Any]]) -> Costs:
    """Of one dim a curve, of two a surface."""
    found = [
        (tuple(p["size"]), CostPoint(p["size"][0], p["cost_us"], p["low_us"], p["high_us"])) for p in points
    ]
    if len(found[0][0]) == 1:
        return Costs(Curve.measured([point for _, point in found]))
    return Costs(Surface.measured(found))
