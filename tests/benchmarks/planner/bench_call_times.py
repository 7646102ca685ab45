"""What timing every n-th call of a compiled graph adds to all the others, in nanoseconds a call.

Plain and timed calls alternate in blocks; the median of the differences is printed with its quartiles.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from operator import itemgetter

from compilescope.capture._call_times import CallTimes, timing

BLOCKS, CALLS, EVERY = 200, 5000, 100
MOST_NS = 150.0  # a counted call costs about as much


def block_ns(function: Callable[..., object]) -> float:
    start_ns = time.perf_counter_ns()
    for _ in range(CALLS):
        function(16, None)
    return (time.perf_counter_ns() - start_ns) / CALLS


def nothing(*_: object) -> None:
    """Stands for the compiled graph."""


def main() -> int:
    timed = timing(nothing, CallTimes("cpu"), itemgetter(0), EVERY)
    added = []
    for number in range(BLOCKS):
        order = (nothing, timed) if number % 2 == 0 else (timed, nothing)
        taken = {function: block_ns(function) for function in order}
        added.append(taken[timed] - taken[nothing])
    low, middle, high = statistics.quantiles(added, n=4)
    print(f"every {EVERY}th call timed: +{middle:.0f} ns a call ({low:.0f} to {high:.0f}), {BLOCKS} pairs")
    return int(middle > MOST_NS)


if __name__ == "__main__":
    sys.exit(main())
