"""On a GPU: a training step with graphs of its forward and backward, and the other ways to train many sizes.

    python gpu_training.py [--blocks 4] [--sizes ...] [--lock FILE] [--out FILE]

Transformer blocks, bf16; a step is forward, mean of squares, backward, without an optimizer. Each is waited
for, the ways take turns. ``memory`` is what the device held more after all sizes than before the way was made
ready; each way has a model of its own, whose parameters are counted before. It does not run on a CPU.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from gpu_rungs import Turns
from traffic_model import Setting, spread

from compilescope.bucketing import bucketed
from compilescope.ladder import BucketLadder

SIZES = (16, 64, 256, 1024, 4096)
ROUNDS, CALLS = 7, 30
WAYS = ("ladder, CUDA graphs", "ladder", "reduce-overhead", "dynamic=True", "eager")


class Way:
    """One way to train, over a model of its own with the same weights."""

    def __init__(
        self, name: str, setting: Setting, sizes: Sequence[int], inputs: Sequence[torch.Tensor]
    ) -> None:
        self.name = name
        self.model = setting.model()
        self.bucketed: Any = None
        setting.synchronize()
        torch.cuda.empty_cache()  # else a later way would live on what an earlier one left
        before_mib = setting.memory_mib()
        self.ready_s = setting.wall_us(lambda: self._make_ready(sizes, inputs)) / 1e6
        torch.cuda.empty_cache()
        self.memory_mib = setting.memory_mib() - before_mib

    def _make_ready(self, sizes: Sequence[int], inputs: Sequence[torch.Tensor]) -> None:
        self.forward: Callable[[torch.Tensor], torch.Tensor] = self.model
        if self.name.startswith("ladder"):
            pins = BucketLadder.pins(sizes).within(2, max(sizes))
            graphs = self.name.endswith("graphs")
            self.bucketed = bucketed(
                self.model, pins, {"input": {0: "tokens"}}, fallback="eager", cuda_graphs=graphs
            )
            self.bucketed.warm_up(inputs[0], progress=False)
            self.forward = self.bucketed
        elif self.name == "reduce-overhead":
            self.forward = torch.compile(self.model, mode="reduce-overhead", dynamic=False)
        elif self.name == "dynamic=True":
            self.forward = torch.compile(self.model, dynamic=True)
        for _ in range(3):  # reduce-overhead warms up, records, replays
            for x in inputs:
                self.step(x)

    def step(self, x: torch.Tensor) -> None:
        self.model.zero_grad(set_to_none=True)
        self.forward(x).float().square().mean().backward()

    def gradient(self, x: torch.Tensor) -> torch.Tensor:
        self.step(x)
        gradient = next(self.model.parameters()).grad
        assert gradient is not None
        return gradient.float().clone()


def measure(setting: Setting, sizes: Sequence[int], turns: Turns) -> dict[str, Any]:
    # Each way is a compiled model of its own over the same code.
    torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 1000
    inputs = list(setting.inputs([(n,) for n in sizes]).values())
    ways = [Way(name, setting, sizes, inputs) for name in WAYS]
    result: dict[str, Any] = {"torch": torch.__version__, "blocks": setting.blocks, "ways": {}}
    for way in ways:
        print(f"{way.name}: ready after {way.ready_s:.1f} s, {way.memory_mib:.0f} MiB", flush=True)
        result["ways"][way.name] = {"ready_s": way.ready_s, "memory_mib": way.memory_mib, "us": {}}
    for size, x in zip(sizes, inputs, strict=True):
        with turns.alone():
            times = by_turns(setting, ways, x)
        for name, found in times.items():
            result["ways"][name]["us"][size] = spread(found)
        print(size, {name: round(statistics.median(found), 1) for name, found in times.items()}, flush=True)
    eager = ways[-1]
    for way in ways:
        result["ways"][way.name]["largest_error"] = max(
            _error(way.gradient(x), eager.gradient(x)) for x in inputs
        )
        if way.bucketed is not None:
            result["ways"][way.name]["report"] = f"{way.bucketed.backend.graphs}\n{way.bucketed.explain()}"
            print(way.name, result["ways"][way.name]["report"], flush=True)
    print({name: found["largest_error"] for name, found in result["ways"].items()}, flush=True)
    return result


def by_turns(setting: Setting, ways: Sequence[Way], x: torch.Tensor) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {way.name: [] for way in ways}
    for _ in range(ROUNDS):
        for way in ways:
            steps = [setting.wall_us(lambda way=way: way.step(x)) for _ in range(CALLS)]  # type: ignore[misc]
            times[way.name].append(statistics.median(steps))
    return times


def _error(actual: torch.Tensor, expected: torch.Tensor) -> float:
    return ((actual - expected).abs().max() / expected.abs().max()).item()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--lock", type=Path, help="a file: runs that name the same one take turns on the GPU")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    setting = Setting(blocks=options.blocks, trains=True)
    result = measure(setting, sorted(options.sizes), Turns(options.lock))
    if options.out is not None:
        options.out.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
