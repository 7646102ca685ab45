"""What a ladder does with sizes, and what that costs: the dispatch rule of BucketLadder, for many sizes at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from compilescope.ladder.ladder import BucketLadder
from compilescope.ladder.planner.costs import US_PER_S, Costs
from compilescope.ladder.planner.curve import Bools, Floats
from compilescope.ladder.planner.traffic import Sizes


@dataclass(frozen=True, slots=True, eq=False)
class Served:
    """Row i of the sizes asked about: how it is served, at which size, and at what cost of a call.

    ``low`` and ``high`` are the ends of the cost's interval; ``known`` tells where the cost is a
    measurement itself, ``inside`` where it lies between measurements.
    """

    PIN: ClassVar[int] = 0
    PAD: ClassVar[int] = 1
    RANGE: ClassVar[int] = 2
    UNSERVED: ClassVar[int] = 3

    kind: NDArray[np.int8]
    size: Sizes
    cost: Floats
    low: Floats
    high: Floats
    known: Bools
    inside: Bools


def serve(ladder: BucketLadder, sizes: Sizes, costs: Costs) -> Served:
    """How ``ladder`` serves each of ``sizes`` (one symbol), as BucketLadder.serving does.

    A size no rung holds runs at its own size: through the dynamic artifact where its cost is known, else as if
    it had an artifact of its own, which flatters the ladder; so unserved calls are counted apart.
    """
    kind = np.full(len(sizes), Served.UNSERVED, np.int8)
    size, hint = sizes.copy(), np.zeros(len(sizes), np.int64)
    for span in ladder.range_rungs:
        inside = (sizes >= span.low) & (sizes <= span.high)
        kind[inside], hint[inside] = Served.RANGE, span.hint
    pads = np.array([pad.size for pad in ladder.pad_rungs], np.int64)
    place = np.searchsorted(pads, sizes)
    held = place < len(pads)
    kind[held], size[held] = Served.PAD, pads[place[held]]
    exact = np.isin(sizes, [pin.size for pin in ladder.pin_rungs])
    kind[exact], size[exact] = Served.PIN, sizes[exact]
    return _priced(kind, size, hint, costs)


def _priced(kind: NDArray[np.int8], size: Sizes, hint: Sizes, costs: Costs) -> Served:
    cost, (low, high) = costs.static.at(size), costs.static.interval(size)
    known, inside = costs.static.is_measured(size), costs.static.is_inside(size)
    if costs.dynamic:
        dynamic = kind >= Served.RANGE
        for each in np.unique(hint[dynamic]).tolist():
            through, rows = costs.nearest(each).model, dynamic & (hint == each)
            cost[rows], (low[rows], high[rows]) = through.at(size[rows]), through.interval(size[rows])
            known[rows], inside[rows] = through.is_measured(size[rows]), through.is_inside(size[rows])
    return Served(kind, size, cost, low, high, known, inside)


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What a ladder takes to make and keep."""

    compile_s: float
    memory_bytes: float

    @property
    def price_us(self) -> float:
        return self.compile_s * US_PER_S


def upkeep(ladder: BucketLadder, costs: Costs) -> Upkeep:
    """Compile and capture seconds and bytes of all rungs together; 0 where the costs do not say."""
    static = np.array([rung.size for rung in (*ladder.pin_rungs, *ladder.pad_rungs)], np.int64)
    hints = np.array([span.hint for span in ladder.range_rungs], np.int64)
    return Upkeep(
        float(costs.seconds(static).sum() + costs.seconds(hints, static=False).sum()),
        float(costs.bytes(static).sum()),
    )
