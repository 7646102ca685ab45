"""On a GPU: a call with a graph of the whole rung, with graphs between attention, and without graphs.

    python gpu_pieces.py [--sizes ...] [--out FILE]

Four transformer blocks, inference; each call is waited for, the ways take turns. It does not run on a CPU.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from traffic_model import Setting, spread

from compilescope.bucketing import bucketed
from compilescope.bucketing.piecewise import ATTENTION
from compilescope.ladder import BucketLadder

SIZES = (16, 128, 512, 1024, 2048)
ROUNDS, CALLS = 7, 50
WAYS: dict[str, dict[str, Any]] = {
    "one graph": {"cuda_graphs": True},
    "graphs between attention": {"cuda_graphs": "pieces", "split_ops": ATTENTION},
    "split, one graph": {"cuda_graphs": True, "split_ops": ATTENTION},
    "split, no graph": {"split_ops": ATTENTION},
    "no graph": {},
}


@torch.no_grad()
def measure(sizes: list[int]) -> dict[str, Any]:
    setting = Setting()
    model, inputs = setting.model(), setting.inputs([(n,) for n in sizes])
    torch._dynamo.config.recompile_limit = 64  # each way is a compiled model of its own over the same code
    served: dict[str, Any] = {}
    result: dict[str, Any] = {"torch": torch.__version__, "ways": {}}
    for name, options in WAYS.items():
        pins = BucketLadder.pins(sizes).within(2, max(sizes))
        served[name] = bucketed(model, pins, {"input": {0: "tokens"}}, fallback="eager", **options)
        warm_up = served[name].warm_up(next(iter(inputs.values())), grad=False, progress=False)
        graphs = served[name].backend.graphs
        result["ways"][name] = {"warm_up_s": warm_up.wall_s, "graphs": str(graphs), "us": {}}
        print(name, f"ready after {warm_up.wall_s:.1f} s:", str(graphs).splitlines()[0], flush=True)
    for size in sizes:
        x = inputs[(size,)]
        times: dict[str, list[float]] = {name: [] for name in served}
        for _ in range(ROUNDS):
            for name, each in served.items():
                times[name].append(median_us(setting, each, x))
        for name, found in times.items():
            result["ways"][name]["us"][size] = spread(found)
        print(size, {name: round(statistics.median(found), 1) for name, found in times.items()}, flush=True)
    return result


def median_us(setting: Setting, served: Callable[..., Any], x: torch.Tensor) -> float:
    return statistics.median(setting.wall_us(lambda: served(x)) for _ in range(CALLS))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    result = measure(options.sizes)
    if options.out is not None:
        options.out.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
