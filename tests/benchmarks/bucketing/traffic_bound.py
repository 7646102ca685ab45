"""What the best set of so many graphs could do, with measured costs and the requests known beforehand.

    python traffic_bound.py predictions.json [--file batch_length] [--graphs 8 12] [--requests 300]

``predictions.json`` is an output of ``gpu_traffic.py --part predict``. A graph may be at any combination of
the requests' and the measured sizes, and each request goes to the cheapest that holds it: fewer limits than
any ladder has. It is solved as an integer program by scipy's HiGHS (``pip install -e '.[bench]'``), so that
the bound beside the result is a proof, as far as the measured costs are right between their points and a
larger size never costs less.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
from gpu_traffic import earlier_costs
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from traffic_files import FILES, Size

from compilescope.ladder.planner import Costs

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
LIMIT_S = 300


def at(costs: Costs, sizes: Sequence[Size]) -> Floats:
    """The cost of a graph of each size."""
    wanted = np.array(sizes)
    return costs.static.at(wanted if wanted.shape[1] == 2 else wanted[:, 0])


def candidates(asked: Sequence[Size], costs: Costs) -> tuple[list[Size], Bools]:
    """Sizes a graph may have, and which of ``asked`` each holds, without those another one makes useless."""
    points = costs.static.points
    measured = [point[0] if isinstance(point, tuple) else (point.size,) for point in points]
    axes = [sorted({size[dim] for size in (*asked, *measured)}) for dim in range(len(asked[0]))]
    sizes = list(product(*axes))
    cost = at(costs, sizes)
    holds = (np.array(sizes)[None] >= np.array(asked)[:, None]).all(axis=-1)
    kept: list[int] = []
    for each in np.lexsort((-holds.sum(axis=0), cost)):
        useless = any((holds[:, other] >= holds[:, each]).all() for other in kept)
        if holds[:, each].any() and not useless:
            kept.append(int(each))
    return [sizes[each] for each in kept], holds[:, kept]


def best(weights: Floats, costs: Floats, holds: Bools, graphs: int) -> tuple[float, float, list[int]]:
    """The least mean cost found, a proven lower bound, and the graphs chosen."""
    requests, sizes = np.nonzero(holds)
    served, made, calls = len(weights), len(costs), len(requests)
    call = np.arange(calls)
    ones = np.ones(calls)
    everybody = sparse.csr_matrix((ones, (requests, made + call)), shape=(served, made + calls))
    by_what_is_made = sparse.csr_matrix(
        (np.concatenate([ones, -ones]), (np.tile(call, 2), np.concatenate([made + call, sizes]))),
        shape=(calls, made + calls),
    )
    budget = np.concatenate([np.ones(made), np.zeros(calls)])
    result = milp(
        np.concatenate([np.zeros(made), weights[requests] * costs[sizes]]),
        constraints=[
            LinearConstraint(everybody, 1, 1),
            LinearConstraint(by_what_is_made, -np.inf, 0),
            LinearConstraint(budget[None], 0, graphs),
        ],
        integrality=budget,
        bounds=Bounds(0, 1),
        options={"time_limit": LIMIT_S},
    )
    chosen = [] if result.x is None else [each for each in range(made) if result.x[each] > 0.5]
    return float(result.fun or np.inf), float(result.mip_dual_bound), chosen


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--file", choices=FILES, default="batch_length")
    parser.add_argument("--graphs", nargs="+", type=int, default=[8, 12])
    parser.add_argument("--requests", type=int, help="of the later half; as many as the traffic part serves")
    options = parser.parse_args()
    costs, file = earlier_costs(options.predictions)[options.file], FILES[options.file]
    sizes = file.sizes("cuda")
    counts = Counter(file.taken(sizes[len(sizes) // 2 :], options.requests or file.requests))
    asked = sorted(counts)
    weights = np.array([counts[size] for size in asked]) / counts.total()
    own = float(at(costs, asked) @ weights)
    print(f"{file.name}: {counts.total()} requests, a graph for each of {len(asked)} sizes {own:.1f} us")
    allowed, holds = candidates(asked, costs)
    for graphs in options.graphs:
        found, bound, chosen = best(weights, at(costs, allowed), holds, graphs)
        shown = ", ".join("x".join(map(str, allowed[each])) for each in sorted(chosen))
        print(
            f"{graphs:3} graphs: {found:.1f} us, {found / own:.3f} x (not below {bound / own:.3f}): {shown}",
            flush=True,
        )


if __name__ == "__main__":
    main()
