"""What a ladder does with sizes, and what that costs: the rule of BucketLadder, for many sizes at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from compilescope.ladder.ladder import BucketLadder
from compilescope.ladder.planner.costs import US_PER_S, CostModel, Costs
from compilescope.ladder.planner.curve import Bools, Floats
from compilescope.ladder.planner.joint import JointLadder
from compilescope.ladder.planner.traffic import Sizes

AnyLadder = BucketLadder | JointLadder
Kinds = NDArray[np.int8]


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

    kind: Kinds
    size: Sizes
    hint: Sizes
    cost: Floats
    low: Floats
    high: Floats
    known: Bools
    inside: Bools


def static_sizes(ladder: BucketLadder) -> list[int]:
    """Sizes of its pins and pads, ascending."""
    return sorted([pin.size for pin in ladder.pin_rungs] + [pad.size for pad in ladder.pad_rungs])


def serve(ladder: AnyLadder, sizes: Sizes, costs: Costs) -> Served:
    """How ``ladder`` serves each of ``sizes``: shape (calls,), or (calls, 2) for a ladder of two symbols.

    A size no rung holds runs at its own size: through the dynamic artifact where its cost is known, else as
    if it had an artifact of its own. That flatters the ladder, so unserved calls are counted apart.
    """
    return _priced(*_dispatched(ladder, sizes), costs)


def running_cost(ladder: AnyLadder, sizes: Sizes, costs: Costs) -> Floats:
    """Only the cost of a call at each size: what a planner asks thousands of times."""
    kind, size, hint = _dispatched(ladder, sizes)
    cost = costs.static.at(size)
    for rows, through in _through_dynamic(kind, hint, costs):
        cost[rows] = through.at(size[rows])
    return cost


def served_sizes(ladder: AnyLadder, sizes: Sizes) -> Sizes:
    """What each of ``sizes`` is padded up to; itself where nothing pads it."""
    return _dispatched(ladder, sizes)[1]


def _dispatched(ladder: AnyLadder, sizes: Sizes) -> tuple[Kinds, Sizes, Sizes]:
    return _by_one(ladder, sizes) if isinstance(ladder, BucketLadder) else _by_two(ladder, sizes)


def _through_dynamic(kind: Kinds, hint: Sizes, costs: Costs) -> Iterator[tuple[Bools, CostModel]]:
    """Which calls run through which dynamic artifact."""
    dynamic = kind >= Served.RANGE
    if costs.dynamic:
        for each in np.unique(hint[dynamic]).tolist():
            yield dynamic & (hint == each), costs.nearest(each).model


def _by_one(ladder: BucketLadder, sizes: Sizes) -> tuple[Kinds, Sizes, Sizes]:
    """As BucketLadder.serving does: its pin, else the smallest pad that holds it, else its range."""
    kind, hint = np.full(len(sizes), Served.UNSERVED, np.int8), np.zeros(len(sizes), np.int64)
    for span in ladder.range_rungs:
        inside = (sizes >= span.low) & (sizes <= span.high)
        kind[inside], hint[inside] = Served.RANGE, span.hint
    held, size = _padded(ladder, sizes)
    kind[held] = Served.PAD
    exact = np.isin(sizes, [pin.size for pin in ladder.pin_rungs])
    kind[exact], size[exact] = Served.PIN, sizes[exact]
    return kind, size, hint


def _by_two(ladder: JointLadder, sizes: Sizes) -> tuple[Kinds, Sizes, Sizes]:
    kind, size = np.full(len(sizes), Served.UNSERVED, np.int8), sizes.copy()
    if ladder.pads is not None:
        padded = [_padded(each, sizes[:, axis]) for axis, each in enumerate(ladder.pads)]
        held = padded[0][0] & padded[1][0]
        kind[held] = Served.PAD
        size[held] = np.stack([padded[0][1], padded[1][1]], axis=1)[held]
    if ladder.combinations:
        place = chosen_pads(ladder, sizes)
        held = place < len(ladder.combinations)
        kind[held] = Served.PAD
        size[held] = np.array(ladder.combinations, np.int64)[place[held]]
    if ladder.highest is not None:
        kind[(sizes <= np.array(ladder.highest)).all(axis=1)] = Served.RANGE
    if ladder.pinned:
        pinned = set(ladder.pinned)
        kind[np.array([(int(a), int(b)) in pinned for a, b in sizes], bool)] = Served.PIN
    return kind, size, np.zeros(len(sizes), np.int64)


def chosen_pads(ladder: JointLadder, sizes: Sizes) -> NDArray[np.intp]:
    """Which combination serves each size, as :meth:`JointLadder.padded_to` says; their number where none."""
    pairs = np.array(ladder.combinations, np.int64).reshape(-1, 2)
    first = np.full(len(sizes), 3 * len(pairs), np.intp)
    for place, pair in enumerate(pairs):
        ones_padded = ((sizes == 1) & (pair > 1)).sum(axis=1)
        rank = np.where((sizes <= pair).all(axis=1), place + ones_padded * len(pairs), 3 * len(pairs))
        first = np.minimum(first, rank)
    return np.where(first < 3 * len(pairs), first % max(len(pairs), 1), len(pairs))


def _padded(ladder: BucketLadder, sizes: Sizes) -> tuple[Bools, Sizes]:
    """Which sizes a pad holds, and the pad; the size itself where none does."""
    pads, size = np.array([pad.size for pad in ladder.pad_rungs], np.int64), sizes.copy()
    place = np.searchsorted(pads, sizes)
    held = place < len(pads)
    size[held] = pads[place[held]]
    return held, size


def _priced(kind: Kinds, size: Sizes, hint: Sizes, costs: Costs) -> Served:
    cost, (low, high) = costs.static.at(size), costs.static.interval(size)
    known, inside = costs.static.is_measured(size), costs.static.is_inside(size)
    for rows, through in _through_dynamic(kind, hint, costs):
        cost[rows], (low[rows], high[rows]) = through.at(size[rows]), through.interval(size[rows])
        known[rows], inside[rows] = through.is_measured(size[rows]), through.is_inside(size[rows])
    return Served(kind, size, hint, cost, low, high, known, inside)


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What a ladder takes to make and keep."""

    compile_s: float
    memory_bytes: float

    @property
    def price_us(self) -> float:
        return self.compile_s * US_PER_S


def upkeep(ladder: AnyLadder, costs: Costs) -> Upkeep:
    """Compile and capture seconds and bytes of all rungs together; 0 where the costs do not say."""
    if isinstance(ladder, BucketLadder):
        static = np.array(static_sizes(ladder), np.int64)
        hints = np.array([span.hint for span in ladder.range_rungs], np.int64)
    else:
        static = np.array(ladder.static_rungs, np.int64).reshape(-1, 2)
        hints = np.array([ladder.highest] if ladder.highest else [], np.int64).reshape(-1, 2)
    return Upkeep(
        float(costs.seconds(static).sum() + costs.seconds(hints, static=False).sum()),
        float(costs.bytes(static).sum()),
    )
