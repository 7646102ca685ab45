"""One symbol's traffic, costs and limits as the arrays the exact planners work on."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from compilescope.ladder.planner._spans import SpanProblem
from compilescope.ladder.planner.costs import US_PER_S, Costs
from compilescope.ladder.planner.curve import Curve, Floats
from compilescope.ladder.planner.errors import PlanError
from compilescope.ladder.planner.limits import Limits
from compilescope.ladder.planner.traffic import LARGEST_SIZE, Sizes


@dataclass(frozen=True, slots=True)
class Prices:
    """What a second and a byte of a rung are worth, in microseconds."""

    us_per_s: float = US_PER_S
    us_per_byte: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """``sizes`` ascending and distinct, ``calls`` of each over the whole horizon.

    ``pads`` are the sizes worth trying as a pad, ascending; ``position[j]`` counts the sizes up to pad j.
    """

    sizes: Sizes
    calls: Floats
    costs: Costs
    limits: Limits
    pads: Sizes
    position: NDArray[np.intp]

    @property
    def hints(self) -> tuple[int, ...]:
        return tuple(sorted(dynamic.hint or 0 for dynamic in self.costs.dynamic))

    def pad_arrays(self, prices: Prices) -> tuple[Floats, Floats, Floats, NDArray[np.intp] | None]:
        """Calls up to, cost at and price of each pad (index 0: none); the first that each may follow."""
        total = np.concatenate([[0.0], np.cumsum(self.calls)])
        calls = np.concatenate([[0.0], total[self.position]])
        cost = np.concatenate([[0.0], self.costs.static.at(self.pads)])
        price = np.concatenate([[0.0], self._price(self.pads, prices)])
        return calls, cost, price, self._lowest()

    def spans(self, prices: Prices) -> SpanProblem:
        ordered = sorted(self.costs.dynamic, key=lambda dynamic: dynamic.hint or 0)
        models = [dynamic.model.at(self.sizes) * self.calls for dynamic in ordered]
        tuned = np.array([hint or int(np.median(self.sizes)) for hint in self.hints], np.int64)
        return SpanProblem(
            self.sizes,
            self._pinned(prices),
            np.array(models).reshape(len(models), len(self.sizes)),
            self.costs.seconds(tuned, static=False) * prices.us_per_s,
            self.hints,
        )

    def _pinned(self, prices: Prices) -> Floats:
        pinned = self.costs.static.at(self.sizes) * self.calls + self._price(self.sizes, prices)
        refused = self.sizes % self.limits.align != 0
        if self.limits.maximum is not None:  # a pin does not serve the sizes that only may come
            refused |= self.calls == 0
        return np.where(refused | (not self.limits.pins), inf, pinned)

    def _price(self, sizes: Sizes, prices: Prices) -> Floats:
        seconds, kept = self.costs.seconds(sizes), self.costs.bytes(sizes)
        return seconds * prices.us_per_s + kept * prices.us_per_byte

    def _lowest(self) -> NDArray[np.intp] | None:
        """For each pad the first lower pad (index, 0 for none) above which nothing is padded too far."""
        if self.limits.max_padding is None:
            return None
        reach = _reach(self.sizes, self.limits.max_padding)
        first_size = np.searchsorted(reach, self.pads)  # sizes below this one may not go to the pad
        covered = np.concatenate([[0], self.position])
        return np.concatenate([[0], np.searchsorted(covered, first_size)]).astype(np.intp)


def build(sizes: Sizes, calls: Floats, costs: Costs, limits: Limits) -> Problem:
    """``sizes`` ascending and distinct. Raises PlanError where the costs do not allow the kinds asked for."""
    check_kinds(costs, limits)
    if limits.maximum is not None:
        if limits.maximum < sizes[-1]:
            raise PlanError(f"the traffic has size {sizes[-1]}, above the declared maximum {limits.maximum}")
        if limits.maximum > sizes[-1]:
            sizes, calls = np.append(sizes, limits.maximum), np.append(calls, 0.0)
    pads = _worth_trying(sizes, costs, limits) if limits.pads else sizes[:0]
    return Problem(sizes, calls, costs, limits, pads, np.searchsorted(sizes, pads, side="right"))


def check_kinds(costs: Costs, limits: Limits) -> None:
    if not limits.pads and not costs.dynamic:
        raise PlanError(
            "pins save what a static artifact is faster than the dynamic one, and that was not measured",
            hint="give a cost file with a dynamic curve, or plan pads",
        )
    if limits.compile_budget_s is not None and not costs.is_priced:
        raise PlanError(
            "a budget of seconds needs the seconds of a rung", hint="give compile_s in a cost file"
        )
    if limits.memory_budget_bytes is not None and costs.memory_bytes is None:
        raise PlanError(
            "a budget of memory needs the bytes of a rung", hint="give memory_bytes in a cost file"
        )


def _worth_trying(sizes: Sizes, costs: Costs, limits: Limits) -> Sizes:
    """Between two sizes of the traffic, cost and price are straight lines between bends: try only the ends.

    The limits of the contract end such a stretch too.
    """
    align = limits.align
    bends = {*costs.static.bends} if isinstance(costs.static, Curve) else set()
    bends |= {bend for amount in costs.amounts for bend in amount.bends}
    turns = np.array(sorted(bends), np.int64)
    below_next = (sizes[1:] - 1) // align * align
    tried = [-(-sizes // align) * align, below_next, turns // align * align, -(-turns // align) * align]
    if limits.max_padding is not None:
        tried.append(_reach(sizes, limits.max_padding) // align * align)
    highest = LARGEST_SIZE if limits.largest is None else limits.largest
    tried.append(np.array([highest // align * align], np.int64)[: limits.largest is not None])
    pads = np.unique(np.concatenate(tried))
    pads = pads[(pads >= sizes[0]) & (pads <= highest)]
    return np.asarray(pads[_undominated(pads, sizes, costs)])


def _reach(sizes: Sizes, max_padding: float) -> Sizes:
    """The largest size each may be padded to."""
    farthest = np.minimum(sizes * max_padding + 1e-9, LARGEST_SIZE)
    return np.asarray(sizes + np.floor(farthest).astype(np.int64))


def _undominated(pads: Sizes, sizes: Sizes, costs: Costs) -> NDArray[np.intp]:
    """Of the pads that hold the same sizes, drop those no cheaper to run, make or keep than a lower one."""
    gap = np.searchsorted(sizes, pads, side="right")
    terms = np.stack([costs.static.at(pads), costs.seconds(pads), costs.bytes(pads)], axis=1)
    if (np.diff(terms, axis=0) >= 0).all():
        return np.flatnonzero(np.diff(gap, prepend=-1) > 0)
    kept: list[int] = []
    for j in range(len(pads)):
        rivals = [i for i in kept[-8:] if gap[i] == gap[j]]
        if not any((terms[i] <= terms[j]).all() for i in rivals):
            kept.append(j)
    return np.array(kept, np.intp)
