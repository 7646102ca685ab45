"""CPU seconds of a plan for 20,000 distinct sizes and 32 rungs: at most 1.5, whatever the curve.

Each case is planned three times, the cases alternating, and the median is what counts.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections import defaultdict

import numpy as np

from compilescope.ladder.planner import (
    Amount,
    CostPoint,
    Costs,
    Curve,
    Dynamic,
    Limits,
    Traffic,
    plan_ladder,
)

SIZES, RUNGS, ROUNDS, MOST_CPU_S = 20_000, 32, 3, 1.5
_draw = np.random.default_rng(0)
TRAFFIC = Traffic.of(np.arange(1, SIZES + 1), counts=_draw.integers(1, 50, SIZES))


def _curve(roughness_us: float, slowdown: float = 1.0) -> Curve:
    draw = np.random.default_rng(1)
    sizes = np.unique(np.linspace(16, SIZES, 200).round().astype(int)).tolist()
    costs = [slowdown * (50 + 0.1 * size + roughness_us * float(draw.random())) for size in sizes]
    return Curve.measured(CostPoint.of(size, cost) for size, cost in zip(sizes, costs, strict=True))


_SECOND = Amount.of(1e-3)
_DYNAMIC = (Dynamic(_curve(20.0, 1.15), 600), Dynamic(_curve(20.0, 1.1), 9000))
CASES = {
    "pads, rising curve": (Costs(_curve(0.0), compile_s=_SECOND), Limits(RUNGS)),
    "pads, curve that falls again": (Costs(_curve(20.0), compile_s=_SECOND), Limits(RUNGS)),
    "pins and two ranges": (Costs(_curve(20.0), _DYNAMIC, _SECOND), Limits(RUNGS, pads=False)),
    "pads, pins and two ranges": (Costs(_curve(20.0), _DYNAMIC, _SECOND), Limits(RUNGS)),
    "pads, padding at most doubled": (Costs(_curve(20.0)), Limits(RUNGS, max_padding=1.0)),
    "pads, padding at most by half": (Costs(_curve(20.0)), Limits(RUNGS, max_padding=0.5)),
}


def main() -> int:
    taken_s = defaultdict(list)
    for _ in range(ROUNDS):
        for name, (costs, limits) in CASES.items():
            start = time.process_time()
            plan = plan_ladder(TRAFFIC, costs, limits, calls=1e9)
            taken_s[name].append(time.process_time() - start)
            assert plan.method == "exact"
    print(f"{SIZES:,} sizes, {RUNGS} rungs, CPU seconds (median of {ROUNDS}; least, most)")
    slow = False
    for name, seconds in taken_s.items():
        median = statistics.median(seconds)
        is_slow = median > MOST_CPU_S
        slow |= is_slow
        print(f"{name:<32}{median:6.2f}  ({min(seconds):.2f}, {max(seconds):.2f}){'  TOO SLOW' * is_slow}")
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
