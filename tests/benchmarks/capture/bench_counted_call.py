"""One counted call of a compiled graph against an uncounted one, on a graph that does next to nothing.

Two copies of the same function are compiled, one while capture is attached. Both are then called in turn, in
short blocks whose order alternates; A/A is a second uncounted copy, measured the same way. Times are CPU
times of this thread: a busy machine lengthens a wall clock, not them.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

import torch

import compilescope.capture
from compilescope.capture._graphs import GraphCounter, counting

ROUNDS = 1000
CALLS = 100


def _compiled(name: str, *, dynamic: bool) -> Callable[[Any], Any]:
    scope: dict[str, Any] = {}
    exec(compile(f"def {name}(x):\n    return x.view(x.shape[0])\n", f"<{name}>", "exec"), scope)
    run = torch.compile(scope[name], backend="eager", dynamic=dynamic)
    run(torch.ones(4))
    return run  # type: ignore[no-any-return]


def _ns_per_call(run: Callable[[Any], Any], argument: Any) -> float:
    clock = time.thread_time_ns
    started = clock()
    for _ in range(CALLS):
        run(argument)
    return (clock() - started) / CALLS


def _differences(first: Callable[[Any], Any], second: Callable[[Any], Any], argument: Any) -> list[float]:
    """``second - first`` in ns per call, one number for each pair of neighboring blocks."""
    found = []
    for n in range(ROUNDS):
        if n % 2:
            second_ns, first_ns = _ns_per_call(second, argument), _ns_per_call(first, argument)
        else:
            first_ns, second_ns = _ns_per_call(first, argument), _ns_per_call(second, argument)
        found.append(second_ns - first_ns)
    return found


def _interval(values: list[float]) -> str:
    """Median and its 95 % interval by order statistics."""
    ordered = sorted(values)
    half = 0.98 * len(ordered) ** 0.5
    low, high = (ordered[round(len(ordered) / 2 + sign * half)] for sign in (-1, 1))
    return f"{statistics.median(ordered):8.0f} [{low:6.0f}, {high:6.0f}]"


def main() -> None:
    argument = torch.ones(4)
    print("CPU ns per call, median of the differences [95 % interval]")
    for label, dynamic in (("static graph", False), ("one size counted", True)):
        plain, again = (_compiled(f"{name}{dynamic}", dynamic=dynamic) for name in ("plain", "again"))
        with tempfile.TemporaryDirectory() as folder:
            compilescope.capture.attach(Path(folder) / "recording")
            counted = _compiled(f"counted{dynamic}", dynamic=dynamic)
            compilescope.capture.detach()
        base = statistics.median(_ns_per_call(plain, argument) for _ in range(50))
        print(f"{label:18} call {base:8.0f}", flush=True)
        print(f"{'':18} A/A  {_interval(_differences(plain, again, argument))}", flush=True)
        print(f"{'':18} on   {_interval(_differences(plain, counted, argument))}", flush=True)

    def nothing(*args: Any) -> Any:
        return args

    for label, positions in (("wrapper, static", []), ("wrapper, one size", [0])):
        wrapped = counting(nothing, GraphCounter(0, None, {"sizes": []}), positions)
        print(f"{label:18} on   {_interval(_differences(nothing, wrapped, 4))}", flush=True)


if __name__ == "__main__":
    main()
