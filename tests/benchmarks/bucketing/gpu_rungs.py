"""On a GPU: does a static rung pay? And what does the first request after a warm-up wait for?

    python gpu_rungs.py [--models block llama] [--modes default max-autotune] [--passes forward backward]
                        [--sizes ...] [--lock FILE] [--out FILE]

Device time is the sum of kernel times (torch.profiler), so that launch gaps do not hide or fake a difference;
wall time of the same calls stands beside it. Static and dynamic alternate; each cell is a median with the
spread of the repetitions. Without a GPU it runs on the CPU by wall clock, which only shows that it runs.

Tuning is mostly compiling, on few cores. Several runs with one ``--lock`` may share a GPU: whatever is timed,
by Inductor's tuning too, holds the lock, and the others compile meanwhile. Their wall times then say little.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import itertools
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from compilescope.bucketing import bucketed
from compilescope.ladder import BucketLadder
from compilescope.observer import RungCompiled

SIZES = (16, 64, 256, 512, 777, 1024, 2048, 4096)
REPETITIONS, CALLS = 7, 20
LISTED = 12
"""Kernels of a row, those with most time first."""
PASSES = {"forward": False, "backward": True}
MODES = {"default": None, "max-autotune": "max-autotune-no-cudagraphs"}


class Block(torch.nn.Module):
    """A transformer block over ``tokens x width``, causal, of one sequence."""

    def __init__(self, width: int = 1024, heads: int = 16) -> None:
        super().__init__()
        self.heads = heads
        self.attend, self.think = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens, width = x.shape
        q, k, v = self.qkv(self.attend(x)).view(tokens, 3, self.heads, -1).permute(1, 2, 0, 3).unbind(0)
        mixed = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)
        x = x + self.out(mixed[0].transpose(0, 1).reshape(tokens, width))
        return x + self.down(torch.nn.functional.gelu(self.up(self.think(x))))


def block(device: str, dtype: torch.dtype) -> tuple[torch.nn.Module, str, int, Callable[[int], torch.Tensor]]:
    model = torch.nn.Sequential(Block(), Block()).to(device, dtype)
    return model, "input", 0, lambda n: torch.randn(n, 1024, device=device, dtype=dtype)


def llama(device: str, dtype: torch.dtype) -> tuple[torch.nn.Module, str, int, Callable[[int], torch.Tensor]]:
    from transformers import LlamaConfig, LlamaModel

    config = LlamaConfig(
        hidden_size=1024,
        intermediate_size=2816,
        num_hidden_layers=4,
        num_attention_heads=16,
        num_key_value_heads=4,
        vocab_size=32000,
        use_cache=False,
    )
    config._attn_implementation = "sdpa"

    class Hidden(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.llama = LlamaModel(config)

        def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
            return self.llama(input_ids=input_ids, use_cache=False).last_hidden_state

    model = Hidden().to(device, dtype)
    return model, "input_ids", 1, lambda n: torch.randint(0, 32000, (1, n), device=device)


MODELS = {"block": block, "llama": llama}


class Turns:
    """One process at a time on the GPU. Without a file there is nobody to wait for."""

    def __init__(self, path: Path | None) -> None:
        self._file = path.open("w") if path is not None else None
        self._depth = 0

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        if self._file is not None and self._depth == 0:
            fcntl.flock(self._file, fcntl.LOCK_EX)
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if self._file is not None and self._depth == 0:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def while_tuning(self) -> None:
        """Inductor's benchmarks of templates, fusions and launch settings take turns too."""
        from torch._inductor.runtime.benchmarking import benchmarker

        timed = benchmarker.benchmark_gpu

        def alone(*a: Any, **k: Any) -> Any:
            with self.alone():
                result = timed(*a, **k)
                torch.cuda.synchronize()
                return result

        benchmarker.benchmark_gpu = alone


def one_assembler() -> None:
    """Tune with the assembler that the code is made with.

    Inductor's compile workers take the ``ptxas`` that came with torch, the process takes Triton's. Where they
    differ (torch 2.11 for CUDA 13: 13.0 and 12.8), Triton's cache has nothing for the process: it compiles
    every candidate a second time, one after the other, and times code that will not run.
    """
    ptxas = Path(torch.__file__).parent / "bin" / "ptxas"
    if ptxas.exists():
        os.environ.setdefault("TRITON_PTXAS_PATH", str(ptxas))


def kernels_us(call: Callable[[], Any], device: str) -> dict[str, float]:
    """Mean time of one call on the device by kernel, in microseconds."""
    if device == "cpu":
        return {"all": wall_us(call, device)}
    from torch.profiler import ProfilerActivity, profile

    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as recorded:
        for _ in range(CALLS):
            call()
        torch.cuda.synchronize()
    return {event.key: event.self_device_time_total / CALLS for event in recorded.key_averages()}


def wall_us(call: Callable[[], Any], device: str) -> float:
    synchronize(device)
    started = time.perf_counter()
    for _ in range(CALLS):
        call()
    synchronize(device)
    return (time.perf_counter() - started) / CALLS * 1e6


def synchronize(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def compare(
    name: str, mode: str, backward: bool, sizes: Sequence[int], device: str, turns: Turns, repetitions: int
) -> Iterator[dict[str, Any]]:
    """A row for each size as soon as it is measured: tuning one takes minutes, and a run may be cut off.

    The dynamic artifact serves all sizes and is tuned at the middle of ``SIZES``, whichever are measured.
    Beside a tuned static rung runs the untuned one of the default mode.
    """
    torch._dynamo.reset()
    # Every rung here is a compiled model of its own over the same code.
    torch._dynamo.config.recompile_limit = 100
    torch.manual_seed(0)
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    model, argument, dim, make = MODELS[name](device, dtype)

    def rung(ladder: BucketLadder, mode: str) -> tuple[Any, float]:
        served = bucketed(model, ladder, {argument: {dim: "tokens"}}, mode=MODES[mode], fallback="eager")
        seconds = served.warm_up(make(sizes[0]), grad=backward).wall_s
        print(served.explain(), flush=True)
        return served, seconds

    highest = max(*SIZES, *sizes)
    span = BucketLadder.range(2, highest, hint=statistics.median_high(SIZES)).within(2, highest)
    dynamic, dynamic_s = rung(span, mode)
    for size in sizes:
        pin = BucketLadder.pins([size]).within(2, highest)
        static, static_s = rung(pin, mode)
        served = {"static": static, "dynamic": dynamic}
        if mode != "default":
            served["untuned"] = rung(pin, "default")[0]
        row = {"model": name, "mode": mode, "backward": backward, "size": size}
        seconds = {"static": static_s, "dynamic": dynamic_s}
        with turns.alone():
            row |= {"warm_up_s": seconds} | alternating(served, make(size), backward, device, repetitions)
        print(line(row), flush=True)
        yield row
    print(f"of the dynamic graph, after all sizes:\n{dynamic.explain()}", flush=True)


def alternating(
    served: dict[str, Any], x: torch.Tensor, backward: bool, device: str, repetitions: int
) -> dict[str, Any]:
    """Lowest, median and highest of each one's times, and its kernels of one repetition, in microseconds."""
    calls = {kind: step(each, x, backward) for kind, each in served.items()}
    for call in calls.values():
        call()
    measured: dict[str, list[float]] = {}
    most: dict[str, Any] = {}
    for _ in range(repetitions):
        for kind, call in calls.items():
            kernels = kernels_us(call, device)
            most[f"{kind}_kernels_us"] = sorted(kernels.items(), key=lambda each: -each[1])[:LISTED]
            measured.setdefault(f"{kind}_device_us", []).append(sum(kernels.values()))
            measured.setdefault(f"{kind}_wall_us", []).append(wall_us(call, device))
    return most | {key: [min(v), statistics.median(v), max(v)] for key, v in measured.items()}


def step(model: Any, x: torch.Tensor, backward: bool) -> Callable[[], Any]:
    def forward() -> Any:
        with torch.no_grad():
            return model(x)

    def train() -> None:
        model.zero_grad(set_to_none=True)
        model(x).float().square().mean().backward()

    return train if backward else forward


def line(row: dict[str, Any]) -> str:
    static, dynamic = row["static_device_us"], row["dynamic_device_us"]
    walls = row["dynamic_wall_us"][1] / row["static_wall_us"][1]
    what = "forward+backward" if row["backward"] else "forward"
    untuned = f", untuned static {row['untuned_device_us'][1]:.0f} us" if "untuned_device_us" in row else ""
    return (
        f"{row['model']:6} {row['mode']:13} {what:17} {row['size']:5}: "
        f"static {static[1]:8.0f} us "
        f"[{static[0]:.0f}, {static[2]:.0f}], "
        f"dynamic {dynamic[1]:8.0f} us [{dynamic[0]:.0f}, {dynamic[2]:.0f}], "
        f"dynamic/static {dynamic[1] / static[1]:.2f} on the device, {walls:.2f} by the clock{untuned}, "
        f"ready after {row['warm_up_s']['static']:.0f} and {row['warm_up_s']['dynamic']:.0f} s"
    )


def first_requests(sizes: Sequence[int], device: str) -> dict[str, list[float]]:
    """Seconds the first request of each size waits: after a warm-up, and with torch's lazy specialize_on."""
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    waits: dict[str, list[float]] = {}
    for way in ("warm_up", "specialize_on"):
        torch._dynamo.reset()
        model, argument, dim, make = block(device, dtype)
        if way == "warm_up":
            served: Any = bucketed(model, BucketLadder.pins(sizes), {argument: {dim: "tokens"}})
            served.warm_up(make(sizes[0]), grad=False)
            assert any(isinstance(event, RungCompiled) for event in served.backend.events())
        else:
            served = torch.compile(model)
        for size in sizes:
            x = make(size)
            if way == "specialize_on":
                predicates = [lambda n, wanted=each: n == wanted for each in sizes]
                torch._dynamo.mark_dynamic(x, dim, specialize_on=predicates)
            synchronize(device)
            started = time.perf_counter()
            with torch.no_grad():
                served(x)
            synchronize(device)
            waits.setdefault(way, []).append(time.perf_counter() - started)
        print(
            f"first request, {way}: "
            + ", ".join(f"{s}: {w:.3f} s" for s, w in zip(sizes, waits[way], strict=True))
        )
    return waits


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--passes", nargs="+", choices=PASSES, default=list(PASSES))
    parser.add_argument("--skip-first-requests", action="store_true")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--two-assemblers", action="store_true", help="Triton's ptxas beside torch's")
    parser.add_argument("--lock", type=Path, help="a file: runs that name the same one take turns on the GPU")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    where = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    print(f"torch {torch.__version__} on {where}")
    if not options.two_assemblers:
        one_assembler()
    turns = Turns(options.lock)
    if options.lock is not None and device == "cuda":
        turns.while_tuning()
    result: dict[str, Any] = {"torch": torch.__version__, "device": where, "rows": [], "first_request_s": {}}
    result["shares_the_gpu"] = options.lock is not None
    result["ptxas"] = os.environ.get("TRITON_PTXAS_PATH", "torch's in workers, Triton's in the process")
    for name, mode, which in itertools.product(options.models, options.modes, options.passes):
        for row in compare(name, mode, PASSES[which], options.sizes, device, turns, options.repetitions):
            result["rows"].append(row)
            write(options.out, result)
    if not options.skip_first_requests:
        result["first_request_s"] = first_requests(options.sizes, device)
        write(options.out, result)


def write(out: Path | None, result: dict[str, Any]) -> None:
    """After every row: a run that is cut off keeps what it measured."""
    if out is not None:
        out.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
