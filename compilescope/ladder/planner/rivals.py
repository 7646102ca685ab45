"""Ladders people use without planning, with as many rungs as the planned one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from compilescope.ladder.ladder import BucketLadder
from compilescope.ladder.planner.costs import Costs
from compilescope.ladder.planner.joint import JointLadder
from compilescope.ladder.planner.serve import AnyLadder, running_cost
from compilescope.ladder.planner.traffic import Sizes, Traffic

Rule = Callable[["Wanted"], list[int]]
_MOST_SPLITS = 64
_SMALL_CAPTURES = (1, 2, 4, *range(8, 256, 8))


@dataclass(frozen=True, slots=True)
class Wanted:
    """At most ``rungs`` rungs for sizes ``lowest..highest``; ``sizes`` and ``counts`` are the traffic's."""

    rungs: int
    lowest: int
    highest: int
    align: int
    sizes: Sizes
    counts: Sizes


def powers_of_two(wanted: Wanted) -> list[int]:
    """The largest ones; where fewer are enough, all that are of use."""
    top, size, found = _power_above(wanted.highest), _power_above(wanted.lowest), []
    while size <= top:
        found.append(size)
        size *= 2
    return found[-wanted.rungs :]


def spaced_powers(wanted: Wanted) -> list[int]:
    """Evenly spread over all that are of use, the smallest and the largest among them."""
    first, last = (_power_above(size).bit_length() - 1 for size in (wanted.lowest, wanted.highest))
    return [1 << int(place) for place in _spaced(first, last, wanted.rungs)]


def multiples(wanted: Wanted) -> list[int]:
    """Of the smallest step, itself a multiple of the alignment, for which that many are enough."""
    step = max(1, (wanted.highest - wanted.lowest) // wanted.rungs // wanted.align) * wanted.align
    while _up(wanted.highest, step) // step - _up(wanted.lowest, step) // step + 1 > wanted.rungs:
        step += wanted.align
    return list(range(_up(wanted.lowest, step), _up(wanted.highest, step) + 1, step))


def quantiles(wanted: Wanted) -> list[int]:
    """Sizes that cut the calls in equal parts."""
    order = np.argsort(wanted.sizes, kind="stable")
    share = np.cumsum(wanted.counts[order]) / wanted.counts.sum()
    at = np.searchsorted(share, np.arange(1, wanted.rungs) / wanted.rungs)
    cut = [_up(int(size), wanted.align) for size in wanted.sizes[order][at]]
    return sorted({*cut, _up(wanted.highest, wanted.align)})


def vllm_default(wanted: Wanted) -> list[int]:
    """vLLM's rule for capture sizes, carried on to the largest size, thinned evenly to that many."""
    first, last = _capture_place(wanted.lowest), _capture_place(wanted.highest)
    if wanted.rungs > last - first:
        return [_capture_size(place) for place in range(first, last + 1)]
    kept = np.linspace(first, last, wanted.rungs + 1)[1:].round().astype(int)
    return sorted({_capture_size(int(place)) for place in kept})


def spaced_captures(wanted: Wanted) -> list[int]:
    """vLLM's sizes thinned so that the smallest of use stays."""
    first, last = _capture_place(wanted.lowest), _capture_place(wanted.highest)
    return [_capture_size(int(place)) for place in _spaced(first, last, wanted.rungs)]


def _spaced(first: int, last: int, rungs: int) -> Sizes:
    places = np.linspace(last if rungs == 1 else first, last, min(rungs, last - first + 1))
    return np.unique(places.round().astype(np.int64))


def _capture_size(place: int) -> int:
    """The size at a place of vLLM's rule: 1, 2, 4, 8, 16, 24 ... 248, 256, 272, 288 ..."""
    beyond = place - len(_SMALL_CAPTURES)
    return _SMALL_CAPTURES[place] if beyond < 0 else 256 + 16 * beyond


def _capture_place(size: int) -> int:
    """The first place whose size is enough."""
    if size <= _SMALL_CAPTURES[-1]:
        return bisect_left(_SMALL_CAPTURES, size)
    return len(_SMALL_CAPTURES) + max(0, -((256 - size) // 16))


def most_frequent(wanted: Wanted) -> list[int]:
    """The sizes that come most often."""
    sizes, where = np.unique(wanted.sizes, return_inverse=True)
    counts = np.bincount(where.ravel(), weights=wanted.counts)
    counts[sizes % wanted.align != 0] = 0
    order = np.argsort(-counts, kind="stable")[: wanted.rungs]
    return sorted(sizes[order[counts[order] > 0]].tolist())


PAD_RULES: Mapping[str, Rule] = {
    "powers of two": powers_of_two,
    "multiples": multiples,
    "quantiles": quantiles,
    "vLLM's default": vllm_default,
}
PIN_RULES: Mapping[str, Rule] = {"most frequent": most_frequent, **PAD_RULES}
JOINT_RULES: Mapping[str, tuple[Rule, ...]] = {
    "powers of two": (powers_of_two, spaced_powers),
    "multiples": (multiples,),
    "quantiles": (quantiles,),
    "vLLM's default": (vllm_default, spaced_captures),
}


def rivals_of(
    ladder: AnyLadder, traffic: Traffic, costs: Costs, rungs: int, align: int, maximum: int | None
) -> dict[str, AnyLadder]:
    """By name: ladders of the kind of ``ladder`` with ``rungs`` rungs, or fewer where a rule has fewer."""
    if isinstance(ladder, JointLadder):
        return {} if ladder.form == "pairs" else _joint_rivals(traffic, costs, rungs, align, maximum)
    wanted = _wanted(traffic, 0, rungs, align, maximum)
    if ladder.pad_rungs or not ladder.range_rungs:
        return {name: BucketLadder.pads(rule(wanted)) for name, rule in PAD_RULES.items()}
    span = ladder.range_rungs[-1]
    pinned = _wanted(traffic, 0, max(1, rungs - 1), align, maximum)
    return {name: _with_range(rule(pinned), wanted.highest, span.hint) for name, rule in PIN_RULES.items()}


def _with_range(pins: list[int], highest: int, hint: int) -> BucketLadder:
    return BucketLadder.pins(pins) | BucketLadder.range(1, max(highest, hint, *pins) + 1, hint)


def _joint_rivals(
    traffic: Traffic, costs: Costs, budget: int, align: int, maximum: int | None
) -> dict[str, AnyLadder]:
    """Of each rule the product of at most ``budget`` rungs that costs ``traffic`` least.

    A rule says nothing about how many rungs each symbol gets: it is given the split that suits it best.
    """
    rows, counts = traffic.distinct()
    found: dict[str, AnyLadder] = {}
    for name, rules in JOINT_RULES.items():
        products = {
            _product(rule, traffic, (first, budget // first), align, maximum)
            for rule in rules
            for first in _firsts(budget)
        }
        found[name] = min(
            products,
            key=lambda ladder: (running_cost(ladder, rows, costs) @ counts, len(ladder), repr(ladder)),
        )
    return found


def _firsts(budget: int) -> Iterable[int]:
    """How many rungs the first symbol may have: of a large budget the most for each number of the second."""
    if budget <= _MOST_SPLITS:
        return range(1, budget + 1)
    return {budget // (budget // first) for first in range(1, budget + 1)}


def _product(
    rule: Rule, traffic: Traffic, rungs: tuple[int, int], align: int, maximum: int | None
) -> JointLadder:
    first, second = (
        BucketLadder.pads(rule(_wanted(traffic, axis, rungs[axis], (1, align)[axis], (None, maximum)[axis])))
        for axis in (0, 1)
    )
    return JointLadder((traffic.names[0], traffic.names[1]), (first, second))


def _wanted(traffic: Traffic, axis: int, rungs: int, align: int, maximum: int | None) -> Wanted:
    sizes = traffic.sizes[:, axis]
    highest = max(int(sizes.max()), maximum or 0)
    return Wanted(rungs, int(sizes.min()), highest, align, sizes, traffic.counts)


def _power_above(size: int) -> int:
    return 1 << (size - 1).bit_length()


def _up(size: int, step: int) -> int:
    return -(-size // step) * step
