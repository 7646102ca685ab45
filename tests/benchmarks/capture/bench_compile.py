"""What capture adds to compiling a 6-layer transformer encoder, forward and backward.

First measured directly: the time inside torch's trace building and inside every hook, as a share of the same
compile. Then as a ratio: compiles with and without capture in turn, in pairs whose order alternates, with
pairs of two uncaptured compiles (A/A) in between. All in one process, `torch._dynamo.reset()` before each
compile and every compiler cache off, so each compile does the same work. Times are CPU times of the thread
that compiles.

usage: bench_compile.py [--backend aot_eager_decomp_partition] [--pairs 15]
"""

from __future__ import annotations

import argparse
import contextlib
import math
import statistics
import sys
import tempfile
import threading
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

import torch
import torch._dynamo
import torch._functorch.config
import torch._inductor.config
import torch._logging._internal
from torch import nn

import compilescope.capture
from compilescope.capture._session import Session

WIDTH, LAYERS = 64, 6


def compile_once(backend: str) -> float:
    """CPU seconds of the first forward and backward of a new model."""
    torch._dynamo.reset()
    layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, batch_first=True)
    model = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
    compiled = torch.compile(model, backend=backend)
    x = torch.randn(2, 16, WIDTH)
    started = time.thread_time()
    compiled(x).sum().backward()
    return time.thread_time() - started


@contextlib.contextmanager
def captured() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder:
        compilescope.capture.attach(Path(folder) / "recording")
        try:
            yield
        finally:
            compilescope.capture.detach()


class Stopwatch:
    """Adds up the outermost of nested timed calls, by what they were."""

    def __init__(self) -> None:
        self.spent_s: dict[str, float] = {}
        self._state = threading.local()

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            if getattr(self._state, "inside", False):
                return function(*args, **kwargs)
            self._state.inside = True
            started = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.spent_s[name] = self.spent_s.get(name, 0.0) + time.thread_time() - started
                self._state.inside = False

        return run


@contextlib.contextmanager
def every_hook_timed(watch: Stopwatch) -> Iterator[None]:
    """torch's trace_structured, which many modules import by value, is timed by exchanging its code."""
    trace = torch._logging._internal.trace_structured
    code, scope = trace.__code__, trace.__globals__
    original = types.FunctionType(code, scope, "original", trace.__defaults__)
    original.__kwdefaults__ = trace.__kwdefaults__
    scope["_timed_trace"] = watch.timed("trace building and its handler", original)
    safely = Session.safely

    def body(*args: Any, **kwargs: Any) -> None:
        _timed_trace(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821

    trace.__code__ = body.__code__
    Session.safely = watch.timed("other hooks", safely)  # type: ignore[method-assign]
    try:
        yield
    finally:
        trace.__code__ = code
        Session.safely = safely  # type: ignore[method-assign]
        del scope["_timed_trace"]


def measure_directly(backend: str, rounds: int = 3) -> None:
    for _ in range(rounds):
        watch = Stopwatch()
        with every_hook_timed(watch), captured():
            total_s = compile_once(backend)
        spent_s = sum(watch.spent_s.values())
        parts = ", ".join(f"{name} {1e3 * s:.0f} ms" for name, s in sorted(watch.spent_s.items()))
        print(f"  {100 * spent_s / total_s:5.2f} % of {total_s:5.2f} s: {parts}", flush=True)


def ratios(backend: str, pairs: int, *, capture: bool) -> list[float]:
    found = []
    for n in range(pairs):
        seconds = {}
        for treated in (True, False) if n % 2 else (False, True):
            with captured() if treated and capture else contextlib.nullcontext():
                seconds[treated] = compile_once(backend)
        found.append(seconds[True] / seconds[False])
    return found


def interval(found: list[float]) -> str:
    """Geometric mean of the ratios and its 95 % interval (Student's t)."""
    logs = [math.log(ratio) for ratio in found]
    mean, half = statistics.fmean(logs), 0.0
    if len(logs) > 1:
        t = 1.96 + 2.4 / (len(logs) - 1)
        half = t * statistics.stdev(logs) / math.sqrt(len(logs))
    return f"{math.exp(mean):.3f} [{math.exp(mean - half):.3f}, {math.exp(mean + half):.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default="aot_eager_decomp_partition")
    parser.add_argument("--pairs", type=int, default=15)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    torch._inductor.config.fx_graph_cache = False
    torch._functorch.config.enable_autograd_cache = False
    torch._inductor.config.compile_threads = 1
    print(f"{chosen.backend}: {LAYERS}-layer nn.TransformerEncoder, torch {torch.__version__}")
    compile_once(chosen.backend)  # imports, and Inductor's C++ objects on disk
    with captured():
        compile_once(chosen.backend)
    print("directly: inside torch's trace building and our hooks")
    measure_directly(chosen.backend)
    print(f"ratio of CPU time over {chosen.pairs} alternating pairs, geometric mean [95 % interval]")
    if chosen.pairs:
        print(f"  A/A     {interval(ratios(chosen.backend, chosen.pairs, capture=False))}", flush=True)
        print(f"  on/off  {interval(ratios(chosen.backend, chosen.pairs, capture=True))}", flush=True)


if __name__ == "__main__":
    main()
