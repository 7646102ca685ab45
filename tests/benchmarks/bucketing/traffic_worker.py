"""One contestant in a process and with caches of its own: first pass, steady passes, sizes never seen before.

Prints a line when it is ready and waits for one, so that the start of Python and torch is nobody's time.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from traffic_files import FILES, Size
from traffic_model import Call, NoLoneOne, Setting, spread
from traffic_predict import predict

from compilescope.bucketing import Pad, bucketed
from compilescope.ladder import BucketLadder

REPEATS = 5
SAVE_EVERY_S = 1.0
NO_LIMIT = 100_000
Save = Callable[[dict[str, Any]], None]


class Contestant:
    """``prepare`` is what a service does before its first request; it counts as part of the first pass."""

    def __init__(self, job: dict[str, Any], setting: Setting, model: torch.nn.Module) -> None:
        self.job, self.setting, self.model = job, setting, model
        self.names = FILES[job["file"]].dims
        self.bucketed: Any = None
        self.forward: Call = model

    def prepare(self) -> None:
        name = self.job["contestant"]
        if name in self.job["ladders"]:
            self._ladder(**self.job["ladders"][name])
        elif name == "specialize_on":
            self._specialized(self.job["frequent"])
        elif name != "eager":
            if name.endswith("no limit"):
                torch._dynamo.config.recompile_limit = NO_LIMIT
                torch._dynamo.config.accumulated_recompile_limit = NO_LIMIT
            self.forward = torch.compile(self.model, **self._options(name))

    def _options(self, name: str) -> dict[str, Any]:
        return {
            "automatic dynamic": {},
            "dynamic=True": {"dynamic": True},
            "dynamic=False": {"dynamic": False},
            "dynamic=False, no limit": {"dynamic": False},
            "reduce-overhead": {"mode": "reduce-overhead"},
        }[name]

    def _ladder(self, combinations: list[Size], code: str) -> None:
        """``combinations`` are what is compiled: sizes of one dim, or pairs."""
        graphs = False if self.setting.trains else "shared" if code == "shared" else True
        rungs = [sorted({size[dim] for size in combinations}) for dim in range(len(self.names))]
        highest = [max(each[-1], top) for each, top in zip(rungs, self.job["highest"], strict=True)]
        covers_all = highest in map(list, combinations)
        self.bucketed = bucketed(
            self.model,
            {
                name: BucketLadder.pads(each).within(min(2, each[0]), top)
                for name, each, top in zip(self.names, rungs, highest, strict=True)
            },
            {"input": dict(enumerate(self.names))},
            only=[dict(zip(self.names, size, strict=True)) for size in combinations],
            budget=len(combinations),
            pad=[Pad("input", dim) for dim in range(len(self.names))],
            cuda_graphs=graphs,
            fallback="eager" if covers_all and graphs != "shared" else "dynamic",
        )
        example = self.setting.zeros(tuple(combinations[0]))
        self.bucketed.warm_up(example, grad=self.setting.trains, progress=False)
        self.forward = self.bucketed if len(self.names) == 1 else NoLoneOne(self.bucketed, combinations)

    def _specialized(self, sizes: list[int]) -> None:
        compiled = torch.compile(self.model)
        predicates = [lambda n, wanted=each: n == wanted for each in sizes]

        def call(x: torch.Tensor) -> torch.Tensor:
            torch._dynamo.mark_dynamic(x, 0, specialize_on=predicates)
            return compiled(x)

        self.forward = call

    def request(self, x: torch.Tensor) -> None:
        """A training step without its optimizer, the mean over real rows; else a forward pass."""
        if not self.setting.trains:
            self.forward(x)
            return
        self.model.zero_grad(set_to_none=True)
        self.forward(x).float().square().mean().backward()


@contextlib.contextmanager
def graphs_counted(found: list[int]) -> Any:
    """Count CUDA graphs as they are recorded, whoever records them."""
    begin = torch.cuda.CUDAGraph.capture_begin

    def counting(self: Any, *words: Any, **named: Any) -> Any:
        found[0] += 1
        return begin(self, *words, **named)

    torch.cuda.CUDAGraph.capture_begin = counting
    try:
        yield
    finally:
        torch.cuda.CUDAGraph.capture_begin = begin


class Measured:
    """``row`` is saved as it grows, for whoever is cut off."""

    def __init__(self, job: dict[str, Any], save: Save) -> None:
        self.setting, self._save = Setting(**job["setting"]), save
        self.requests, self.unseen = ([tuple(size) for size in job[key]] for key in ("requests", "unseen"))
        self.model = self.setting.model()
        self.inputs = self.setting.inputs([*self.requests, *self.unseen])
        self.contestant = Contestant(job, self.setting, self.model)
        self.row: dict[str, Any] = {"contestant": job["contestant"], "requests": len(self.requests)}

    def run(self) -> dict[str, Any]:
        setting, row, graphs = self.setting, self.row, [0]
        Contestant.request(self.contestant, self.inputs[self.requests[0]])  # libraries make their workspaces
        setting.synchronize()
        before_mib, _ = setting.memory_mib(), setting.peak_mib()
        allocated_mib = torch.cuda.memory_allocated() / 2**20 if setting.device == "cuda" else 0.0
        with graphs_counted(graphs):
            self._first_pass()
            peak_mib = setting.peak_mib()
            self._steady()
            row["steady_peak_mib"] = setting.peak_mib() - allocated_mib
            row["peak_allocated_mib"] = max(peak_mib - allocated_mib, row["steady_peak_mib"])
            row["device_mib"], row["graphs"] = setting.memory_mib() - before_mib, graphs[0]
            self._save(row)
            self._unseen()
            row["unseen_peak_mib"] = setting.peak_mib() - allocated_mib
            row["graphs_after_unseen"] = graphs[0]
        row["largest_error"] = max(self._error(self.inputs[size]) for size in self.requests[:20])
        bucketed = self.contestant.bucketed
        if bucketed is not None:
            recorded = bucketed.backend.graphs
            row["report"] = f"{recorded or 'no CUDA graphs'}\n{bucketed.explain()}"
        return row

    def _first_pass(self) -> None:
        started = saved = time.perf_counter()
        self.contestant.prepare()
        self.row["recompile_limit"] = torch._dynamo.config.recompile_limit
        self.setting.synchronize()
        self.row["warm_up_s"] = time.perf_counter() - started
        self._save(self.row | {"first_done": 0, "so_far_s": self.row["warm_up_s"]})
        first = []
        for size in self.requests:
            first.append(self._wall_us(size))
            now = time.perf_counter()
            if now - saved > SAVE_EVERY_S:
                saved = now
                self._save(self.row | {"first_done": len(first), "so_far_s": now - started})
        self.row["first_pass_s"] = time.perf_counter() - started
        self.row["slowest_first_ms"] = max(first) / 1e3
        self._save(self.row)

    def _steady(self) -> None:
        row, each = self.row, []
        by_size: dict[Size, list[float]] = {}
        row["passes_us"] = passes = []
        for _ in range(REPEATS):
            walls = [self._wall_us(size) for size in self.requests]
            passes.append(sum(walls) / len(walls))
            each += walls
            for size, wall in zip(self.requests, walls, strict=True):
                by_size.setdefault(size, []).append(wall)
            row["steady_us"] = spread(passes)
            self._save(row)
        row["median_request_us"] = spread(each)[1]
        # A call after one of another size is slower than the same call again: what a new size is beside.
        row["by_size_us"] = [[*size, spread(found)[1]] for size, found in sorted(by_size.items())]

    def _unseen(self) -> None:
        found = []
        for size in self.unseen:
            allocations = self.setting.device_allocations()
            wall_us, host_us = self._wall_and_host_us(size)
            allocations = self.setting.device_allocations() - allocations
            found.append(
                {"size": size, "first_us": wall_us, "first_host_us": host_us, "allocations": allocations}
            )
        for each in found:
            again = [self._wall_and_host_us(each["size"]) for _ in range(REPEATS)]
            each["again_us"], each["again_host_us"] = (spread(part)[1] for part in zip(*again, strict=True))
            each["again_most_us"] = max(wall_us for wall_us, _ in again)  # a graph may be recorded by then
        self.row["unseen"] = found
        self.row["unseen_worst_x"] = max((e["first_us"] / e["again_us"] for e in found), default=0.0)

    def _wall_us(self, size: Size) -> float:
        return self._wall_and_host_us(size)[0]

    def _wall_and_host_us(self, size: Size) -> tuple[float, float]:
        x = self.inputs[size]
        return self.setting.wall_and_host_us(lambda: self.contestant.request(x))

    def _error(self, x: torch.Tensor) -> float:
        """Largest difference from eager, relative to the largest value; of a gradient as well in training."""
        actual = self._outcome(self.contestant.forward, x)
        expected = self._outcome(self.model, x)
        return max(_difference(mine, theirs) for mine, theirs in zip(actual, expected, strict=True))

    def _outcome(self, forward: Call, x: torch.Tensor) -> Sequence[torch.Tensor]:
        output = forward(x)
        if not self.setting.trains:
            return (output.clone(),)
        self.model.zero_grad(set_to_none=True)
        output.float().square().mean().backward()
        return output.detach().clone(), next(self.model.parameters()).grad.clone()


def _difference(actual: torch.Tensor, expected: torch.Tensor) -> float:
    return ((actual.float() - expected.float()).abs().max() / expected.float().abs().max()).item()


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    print("ready", flush=True)
    if not sys.stdin.readline():
        return
    out = Path(job["out"])
    latest: dict[str, Any] = {}

    def save(result: dict[str, Any]) -> None:
        latest.update(result)
        whole = out.with_suffix(".next")
        whole.write_text(json.dumps(latest))
        whole.replace(out)  # whoever cuts this off finds a whole file

    if job["setting"]["device"] == "cpu":
        torch.set_num_threads(1)  # threads of a machine that others use wait for each other
    try:
        if job["part"] == "predict":
            save(predict(job, save))
        else:
            with torch.set_grad_enabled(job["setting"]["trains"]):
                save(Measured(job, save).run())
    except Exception as failure:
        traceback.print_exc()
        name = job.get("contestant", "predict")
        save({"contestant": name, "error": f"{type(failure).__name__}: {failure}"[:2000]})


if __name__ == "__main__":
    main()
