"""Corpus case 38 on the CPU: predicted and measured cost of a call, for the planned ladder and for others.

python tests/benchmarks/planner/bench_case38.py [WIDTH]

The case's own traffic, shuffled, through its function at the given width. Costs are measured at chosen sizes
as ``ladder --measure`` does; the ladder is planned on one half of the calls, and the other half is then run
through each ladder, five times by turns. Ladders may have as many rungs as the one in use. One thread and its
own CPU time: on a shared machine the wall clock tells what others do.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from typing import Any

import torch

from compilescope.bucketing.compile import CapturedGraph
from compilescope.bucketing.identify import placeholders, shape_env_of, symbols_of
from compilescope.bucketing.inner import InnerCompiler
from compilescope.bucketing.measure import _World, measure
from compilescope.ladder import BucketLadder
from compilescope.ladder.planner import CostPoint, Costs, Curve, Limits, Traffic, score, study_ladder
from compilescope.trial.timing import interval

CASE = Path(__file__).parents[3] / "fixtures" / "corpus" / "scripts" / "38_poor_bucket_ladder.py"
PASSES, NEAR = 5, 0.10
COMPILER = InnerCompiler("aot_eager")


def encode(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """The case's function."""
    return torch.relu(x @ w).mean(0)


class Case:
    """The case's graph, captured once with a free number of rows, and its calls at any of them."""

    def __init__(self, width: int) -> None:
        x = torch.randn(24, width)
        torch._dynamo.mark_dynamic(x, 0)
        torch.compile(encode, backend=self._keep)(x, torch.randn(width, width))
        self._calls: dict[int, Callable[[], object]] = {}

    def _keep(self, module: Any, inputs: Any) -> Any:
        holders = placeholders(module)
        compile_id = torch._guards.CompileContext.current_compile_id()
        self.graph = CapturedGraph.of(module, holders, inputs, shape_env_of(holders), compile_id)
        self.inputs, self.symbols = inputs, symbols_of(holders)[:1]
        return module.forward

    def costs(self, sizes: list[int]) -> Costs:
        """Static cost at each size, as ``ladder --measure`` takes it."""
        rows = [(size,) for size in sizes]
        found = measure(
            self.graph,
            COMPILER,
            self.inputs,
            self.symbols,
            rows,
            rows[0],
            rounds=15,
            seconds=time.thread_time,
        )
        points = []
        for row in found.static:
            spread = interval(row.samples_us)
            points.append(CostPoint(row.sizes[0], spread.value, spread.low, spread.high))
        return Costs(Curve.measured(points))

    def call(self, rung: int) -> Callable[[], object]:
        if rung not in self._calls:
            world = _World(self.graph, tuple(self.inputs), self.symbols, lambda _call, _calls: 0.0)
            self._calls[rung] = world.call(world.static(COMPILER, (rung,)).artifact, (rung,))
        return self._calls[rung]

    def a_pass(self, ladder: BucketLadder, sizes: list[int]) -> Callable[[], float]:
        """Runs all calls once, each padded to its rung; microseconds a call."""
        rungs = sorted(rung.size for rung in ladder.pad_rungs)
        calls = [self.call(next((r for r in rungs if r >= size), size)) for size in sizes]

        def run() -> float:
            start = time.thread_time()
            for call in calls:
                call()
            return (time.thread_time() - start) / len(calls) * 1e6

        return run


def main() -> int:
    width = int(sys.argv[1]) if len(sys.argv) > 1 else 512
    torch.set_num_threads(1)
    case = run_path(str(CASE))
    traffic = Traffic.of(case["TRAFFIC"], ordered=False, label="case 38")
    in_use = BucketLadder.pads(case["LADDER"])
    likely = {size for rung in (*case["LADDER"], *case["TRAFFIC"]) for size in (rung, -(-rung // 8) * 8)}
    case_graph = Case(width)
    costs = case_graph.costs(sorted(likely))
    limits = Limits(max_rungs=len(case["LADDER"]), align=8, pins=False)
    study = study_ladder(traffic, costs, limits, in_use=in_use)
    _, late = traffic.halves()
    sizes = [size for size, count in zip(late.sizes[:, 0].tolist(), late.counts.tolist(), strict=True)
             for _ in range(count)] * 4  # fmt: skip
    ladders = {"planned": study.plan.chosen.ladder, **{r.name: r.score.ladder for r in study.rivals}}
    passes = {name: case_graph.a_pass(ladder, sizes) for name, ladder in ladders.items()}
    taken: dict[str, list[float]] = {name: [] for name in passes}
    with torch.no_grad():
        for number in range(PASSES):
            for name in passes if number % 2 == 0 else reversed(passes):
                taken[name].append(passes[name]())
    print(f"width {width}, {len(sizes)} calls a pass, {PASSES} passes by turns; us a call")
    print(f"{'ladder':<16}{'rungs':>6}{'predicted':>11}{'measured':>10}  (least to most)   off")
    off = {}
    for name, ladder in ladders.items():
        predicted, median = score(ladder, late, costs).cost, statistics.median(taken[name])
        off[name] = predicted / median - 1
        ends = f"({min(taken[name]):.1f} to {max(taken[name]):.1f})"
        print(f"{name:<16}{len(ladder):>6}{predicted:>11.1f}{median:>10.1f}  {ends:<18}{off[name]:>+6.0%}")
    best = min(statistics.quantiles(taken[name], n=4)[2] for name in taken if name != "planned")
    never_above = statistics.median(taken["planned"]) <= best
    print(f"planned within the best rival's upper quartile: {never_above}")
    return int(max(map(abs, off.values())) > NEAR or not never_above)


if __name__ == "__main__":
    sys.exit(main())
