"""What a ladder costs on traffic it was not planned on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compilescope.ladder.planner.costs import Costs
from compilescope.ladder.planner.curve import Floats
from compilescope.ladder.planner.serve import AnyLadder, Served, running_cost, serve, upkeep
from compilescope.ladder.planner.traffic import Traffic


@dataclass(frozen=True, slots=True)
class Score:
    """Costs are per call, in the unit of the costs, running only.

    ``low`` and ``high`` come from the intervals of the cost points. ``excess`` is the cost above that of a
    static artifact for every size (0.1: 10 % above), ``padding`` the elements padded per element asked for.
    ``unserved`` calls had a size that no rung holds; ``idle`` rungs served no call. ``measured`` is the share
    of calls whose cost was measured at just that size, ``beyond`` the share beyond all measurements.
    """

    ladder: AnyLadder
    rungs: int
    cost: float
    low: float
    high: float
    excess: float
    padding: float
    compile_s: float
    memory_bytes: float
    unserved: int
    idle: int
    measured: float
    beyond: float


def asked(traffic: Traffic) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """The sizes as the serving rules take them: shape (rows,) for one symbol, (rows, 2) for two."""
    return traffic.sizes[:, 0] if len(traffic.names) == 1 else traffic.sizes


def cost_per_row(ladder: AnyLadder, traffic: Traffic, costs: Costs) -> Floats:
    return running_cost(ladder, asked(traffic), costs)


def score(ladder: AnyLadder, traffic: Traffic, costs: Costs) -> Score:
    sizes = asked(traffic)
    served, counts, calls = serve(ladder, sizes, costs), traffic.counts, traffic.calls
    kept = upkeep(ladder, costs)
    cost = float(served.cost @ counts) / calls
    wanted, used = (_elements(each) @ counts for each in (sizes, served.size))
    return Score(
        ladder,
        len(ladder),
        cost,
        float(served.low @ counts) / calls,
        float(served.high @ counts) / calls,
        cost * calls / float(costs.static.at(sizes) @ counts) - 1,
        float(used / wanted - 1),
        kept.compile_s,
        kept.memory_bytes,
        int(counts[served.kind == Served.UNSERVED].sum()),
        len(ladder) - _used(served),
        int(counts[served.known].sum()) / calls,
        int(counts[~served.inside].sum()) / calls,
    )


def _elements(sizes: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Floats:
    return np.asarray(sizes.astype(float) if sizes.ndim == 1 else np.prod(sizes.astype(float), axis=1))


def _used(served: Served) -> int:
    """Distinct rungs that served some call; ranges are told apart by their hint."""
    static = served.kind < Served.RANGE
    rungs = len(np.unique(served.size[static], axis=0)) if static.any() else 0
    return rungs + len(np.unique(served.hint[served.kind == Served.RANGE]))
