"""Caps on seconds and memory, by Lagrangian relaxation.

A cap makes the choice of rungs a knapsack, which the exact planner does not solve. Instead a second and a
byte get a price (the multipliers), the exact planner finds the best ladder at those prices, and the prices
are moved to where the lower bound this gives is highest (cutting planes). The best ladder within the caps met
on the way is the answer; what it costs above the highest bound is the duality gap: no ladder within the caps
is better by more. Where all rungs take the same, a cap is a number of rungs and the answer is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import inf

import numpy as np
from numpy.typing import NDArray

from compilescope.ladder.planner._problem import Prices, Problem
from compilescope.ladder.planner._solve import Solution, solve
from compilescope.ladder.planner.costs import US_PER_S
from compilescope.ladder.planner.errors import PlanError
from compilescope.ladder.planner.serve import running_cost, upkeep

Floats = NDArray[np.float64]
_ROUNDS = 40
_MOST_CUTS = 24  # the multipliers are found by trying all corners that cuts make
_CLOSED = 1e-9
_SMALLEST_SCALE = 1e-6  # of a second or a byte: a budget of next to nothing overflows nothing
_DEAR = 1e6  # a cap's worth of seconds or bytes at this many times the whole running cost


@dataclass(frozen=True, slots=True)
class Within:
    """The best ladder found of each number of rungs; ``bound`` is below any, None where exact."""

    solutions: list[Solution]
    bound: float | None = None


def solve_within(problem: Problem) -> Within:
    """Raises PlanError when no ladder serves the traffic within the limits."""
    if problem.limits.is_capped:
        most = _as_count(problem)
        if most is None:
            return _Relaxation(problem).run()
        problem = replace(problem, limits=replace(problem.limits, max_rungs=most))
    solutions = solve(problem, Prices())
    if not solutions:
        raise _nothing_serves(problem)
    return Within(solutions)


def _nothing_serves(problem: Problem) -> PlanError:
    return PlanError(
        f"no ladder of at most {problem.limits.max_rungs} rungs serves every size of the traffic",
        hint="allow more rungs, or more padding, or give a cost file with a dynamic curve",
    )


def _as_count(problem: Problem) -> int | None:
    """The most rungs the caps allow where every rung takes the same, else None. Raises PlanError for none."""
    limits, costs = problem.limits, problem.costs
    if any(amount.bends for amount in costs.amounts):
        return None
    one = np.ones(1, np.int64)
    most = limits.max_rungs
    for budget, amount in (
        (limits.compile_budget_s, costs.seconds),
        (limits.memory_budget_bytes, costs.bytes),
    ):
        static, dynamic = float(amount(one)[0]), float(amount(one, static=False)[0])
        if budget is None or static == dynamic == 0:
            continue
        if costs.dynamic and static != dynamic:
            return None
        most = int(min(most, budget / static * (1 + 1e-12)))
    if most < 1:
        raise _over_budget(limits.compile_budget_s, limits.memory_budget_bytes)
    return most


def _over_budget(seconds: float | None, size_bytes: float | None) -> PlanError:
    given = ((seconds, "s"), (size_bytes, "bytes"))
    caps = [f"{budget:g} {unit}" for budget, unit in given if budget is not None]
    return PlanError(
        f"no ladder that serves the traffic was found within {' and '.join(caps)}",
        hint="raise the budget: every ladder needs at least one rung",
    )


class _Relaxation:
    def __init__(self, problem: Problem) -> None:
        limits = problem.limits
        given = (limits.compile_budget_s, limits.memory_budget_bytes)
        self.problem = problem
        self.capped = [number for number, budget in enumerate(given) if budget is not None]
        self.budget = np.array([budget for budget in given if budget is not None], float)
        self.scale = np.maximum(self.budget, _SMALLEST_SCALE)
        self.cuts: list[tuple[float, Floats]] = []  # objective, and use above budget in units of scale
        self.best: dict[int, Solution] = {}
        self.bound = -inf

    def run(self) -> Within:
        multipliers = np.zeros(len(self.budget))
        self._try(multipliers)
        for seed in self._seeds():
            self._try(seed)
        for _ in range(_ROUNDS):
            multipliers, hoped = _highest(self.cuts)
            if hoped - self.bound <= _CLOSED * abs(hoped) or not self._try(multipliers):
                break
        if not self.best:
            limits = self.problem.limits
            raise _over_budget(limits.compile_budget_s, limits.memory_budget_bytes)
        return Within([self.best[count] for count in sorted(self.best)], self.bound)

    def _seeds(self) -> list[Floats]:
        dear = _DEAR * self.cuts[0][0]
        return [*(np.eye(len(self.budget)) * dear), np.full(len(self.budget), dear)]

    def _try(self, multipliers: Floats) -> bool:
        """Solve at these multipliers (per unit of scale); whether that taught anything new."""
        prices = np.zeros(2)
        prices[self.capped] = multipliers / self.scale
        solutions = solve(self.problem, Prices(US_PER_S + prices[0], prices[1]))
        if not solutions:
            raise _nothing_serves(self.problem)
        rated = [self._rate(solution) for solution in solutions]
        lowest = min(rated, key=lambda cut: cut[0] + float(cut[1] @ multipliers))
        self.bound = max(self.bound, lowest[0] + float(lowest[1] @ multipliers))
        is_new = all(lowest[0] != cut[0] or (lowest[1] != cut[1]).any() for cut in self.cuts)
        self.cuts = [*self.cuts[-_MOST_CUTS:], lowest] if is_new else self.cuts
        return is_new

    def _rate(self, solution: Solution) -> tuple[float, Floats]:
        problem, kept = self.problem, upkeep(solution.ladder, self.problem.costs)
        running = float(running_cost(solution.ladder, problem.sizes, problem.costs) @ problem.calls)
        objective = running + kept.price_us
        use = np.array([kept.compile_s, kept.memory_bytes])[self.capped]
        if (use <= self.budget * (1 + 1e-12)).all():
            count = len(solution.ladder)
            if count not in self.best or objective < self.best[count].objective:
                self.best[count] = Solution(solution.ladder, objective)
        return objective, (use - self.budget) / self.scale


def _highest(cuts: list[tuple[float, Floats]]) -> tuple[Floats, float]:
    """Where the lower envelope of the cuts is highest, over multipliers >= 0, and how high."""
    heights = np.array([height for height, _ in cuts])
    slopes = np.array([slope for _, slope in cuts])
    corners = _corners(heights, slopes)
    values = (heights[None, :] + corners @ slopes.T).min(axis=1)
    best = int(np.argmax(values))
    return corners[best], float(values[best])


def _corners(heights: Floats, slopes: Floats) -> Floats:
    """Points >= 0 where as many cuts (or zero bounds) meet as there are multipliers, plus one cut."""
    dims = slopes.shape[1]
    corners = [np.zeros(dims)]
    for free in range(1, dims + 1):
        for axes in combinations(range(dims), free):
            for chosen in combinations(range(len(heights)), free + 1):
                first, rest = chosen[0], list(chosen[1:])
                matrix = slopes[rest][:, axes] - slopes[first, axes]
                if np.linalg.matrix_rank(matrix) < free:
                    continue
                point = np.zeros(dims)
                point[list(axes)] = np.linalg.solve(matrix, heights[first] - heights[rest])
                if point.min() >= 0:
                    corners.append(point)
    return np.array(corners)
