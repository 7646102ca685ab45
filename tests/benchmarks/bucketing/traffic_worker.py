"""One contestant in a process and with caches of its own: first pass, steady passes, sizes never seen before.

Prints a line when it is ready and waits for one, so that the start of Python and torch is nobody's time.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from traffic_model import Setting, spread
from traffic_predict import predict

from compilescope.bucketing import Pad, bucketed
from compilescope.ladder import BucketLadder

REPEATS = 5
Call = Callable[[torch.Tensor], torch.Tensor]


def power_above(size: int) -> int:
    return 1 << (size - 1).bit_length()


class Contestant:
    """``prepare`` is what a service does before its first request; it counts as part of the first pass."""

    def __init__(self, job: dict[str, Any], setting: Setting, model: torch.nn.Module) -> None:
        self.job, self.setting, self.model = job, setting, model
        self.bucketed: Any = None
        self.call: Call = model

    def prepare(self) -> None:
        name = self.job["contestant"]
        if name in ("ladder", "ladder, shared code"):
            self._ladder(self.job["rungs"], "shared" if "shared" in name else True)
        elif name == "powers of two":
            low, high = power_above(self.job["lowest"]), power_above(self.job["highest"])
            self._ladder([size for size in (1 << k for k in range(20)) if low <= size <= high], True)
        elif name == "specialize_on":
            self._specialized(self.job["frequent"])
        elif name != "eager":
            self.call = torch.compile(self.model, **self._options(name))

    def _options(self, name: str) -> dict[str, Any]:
        return {
            "automatic dynamic": {},
            "dynamic=True": {"dynamic": True},
            "dynamic=False": {"dynamic": False},
            "reduce-overhead": {"mode": "reduce-overhead"},
        }[name]

    def _ladder(self, rungs: list[int], graphs: Any) -> None:
        highest = max(*rungs, self.job["highest"])
        self.bucketed = bucketed(
            self.model,
            BucketLadder.pads(rungs).within(2, highest),
            {"input": {0: "tokens"}},
            pad=[Pad("input", 0)],
            cuda_graphs=graphs,
            fallback="dynamic" if graphs == "shared" or max(rungs) < highest else "eager",
        )
        shape = (rungs[0], self.setting.width)
        example = torch.zeros(shape, device=self.setting.device, dtype=self.setting.dtype)
        self.bucketed.warm_up(example, grad=False, progress=False)
        self.call = self.bucketed

    def _specialized(self, sizes: list[int]) -> None:
        compiled = torch.compile(self.model)
        predicates = [lambda n, wanted=each: n == wanted for each in sizes]

        def call(x: torch.Tensor) -> torch.Tensor:
            torch._dynamo.mark_dynamic(x, 0, specialize_on=predicates)
            return compiled(x)

        self.call = call


@contextlib.contextmanager
def graphs_counted(found: list[int]) -> Any:
    """Count CUDA graphs as they are recorded, whoever records them."""
    enter = torch.cuda.graph.__enter__

    def counting(self: Any) -> Any:
        found[0] += 1
        return enter(self)

    torch.cuda.graph.__enter__ = counting
    try:
        yield
    finally:
        torch.cuda.graph.__enter__ = enter


@torch.no_grad()
def measure(job: dict[str, Any]) -> dict[str, Any]:
    setting = Setting(**job["setting"])
    model = setting.model()
    inputs = setting.inputs([*job["requests"], *job["unseen"]])
    model(next(iter(inputs.values())))  # libraries make their workspaces
    setting.synchronize()
    contestant = Contestant(job, setting, model)
    row: dict[str, Any] = {"contestant": job["contestant"]}
    before_mib, graphs = setting.memory_mib(), [0]
    if setting.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        allocated = torch.cuda.memory_allocated()
    with graphs_counted(graphs):
        started = time.perf_counter()
        contestant.prepare()
        setting.synchronize()
        row["warm_up_s"] = time.perf_counter() - started
        first = [setting.wall_us(lambda x=inputs[n]: contestant.call(x)) for n in job["requests"]]
        row["first_pass_s"] = time.perf_counter() - started
        row["slowest_first_ms"] = max(first) / 1e3
        passes, each = [], []
        for _ in range(REPEATS):
            walls = [setting.wall_us(lambda x=inputs[n]: contestant.call(x)) for n in job["requests"]]
            passes.append(sum(walls) / len(walls))
            each += walls
        row["steady_us"], row["passes_us"] = spread(passes), passes
        row["median_request_us"] = spread(each)[1]
        row["graphs"] = graphs[0]
        if setting.device == "cuda":
            row["peak_allocated_mib"] = (torch.cuda.max_memory_allocated() - allocated) / 2**20
        row["device_mib"] = setting.memory_mib() - before_mib
        unseen = [setting.wall_us(lambda x=inputs[n]: contestant.call(x)) for n in job["unseen"]]
        row["unseen_us"] = unseen
        row["unseen_again_us"] = again = [
            spread([setting.wall_us(lambda x=inputs[n]: contestant.call(x)) for _ in range(REPEATS)])[1]
            for n in job["unseen"]
        ]
        row["unseen_worst_x"] = max(first / later for first, later in zip(unseen, again, strict=True))
        row["graphs_after_unseen"] = graphs[0]
    row["largest_error"] = max(error(contestant.call, model, inputs[n]) for n in job["requests"][:20])
    if contestant.bucketed is not None and contestant.bucketed.backend.graphs is not None:
        row["report"] = f"{contestant.bucketed.backend.graphs}\n{contestant.bucketed.explain()}"
    return row


def error(call: Call, model: Call, x: torch.Tensor) -> float:
    """Largest difference from eager, relative to the largest value."""
    actual, expected = call(x).float(), model(x).float()
    return ((actual - expected).abs().max() / expected.abs().max()).item()


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    print("ready", flush=True)
    if not sys.stdin.readline():
        return
    out = Path(job["out"])
    latest: dict[str, Any] = {}

    def save(result: dict[str, Any]) -> None:
        latest.update(result)
        out.write_text(json.dumps(latest))

    try:
        save(measure(job) if job["part"] == "traffic" else predict(job, save))
    except Exception as failure:
        traceback.print_exc()
        name = job.get("contestant", "predict")
        save({"contestant": name, "error": f"{type(failure).__name__}: {failure}"[:2000]})


if __name__ == "__main__":
    main()
