"""What a program can tell about itself: where a step ends, and values that a change must not move.

Both cost next to nothing where nothing records. Call them outside compiled functions.
"""

from __future__ import annotations

import atexit
import math
import os
import sys
import time
from typing import Any

__all__ = ["check", "flush", "step"]

_CHUNK_STEPS = 1000
_CHUNK_NS = 500_000_000  # a killed program loses at most what it did in this time
_DETAILED_STEPS = 100_000  # from there on only sums: a run of a week must not fill the disk
_MOST_CHECKS = 10_000  # of one name
_NS_PER_US = 1000


class _Steps:
    """The time between two calls of ``step`` is one step; chunks of them become one record."""

    def __init__(self) -> None:
        self.count = 0
        self._last_ns = self._written_ns = 0
        self._sum_ns = 0
        self._chunk_us: list[int] = []
        self._chunk_count = 0

    def step(self) -> None:
        now = time.perf_counter_ns()
        if self._last_ns == 0:
            atexit.register(self.flush)
            self._written_ns = now
            _note("step", {"n": 0, "count": 0, "sum_us": 0, "us": [], "end_ns": time.time_ns()})
        else:
            spent = now - self._last_ns
            self.count += 1
            self._chunk_count += 1
            self._sum_ns += spent
            if self.count <= _DETAILED_STEPS:
                self._chunk_us.append(spent // _NS_PER_US)
        self._last_ns = now
        if self._chunk_count >= _CHUNK_STEPS or now - self._written_ns > _CHUNK_NS:
            self.flush()

    def flush(self) -> None:
        if self._chunk_count == 0:
            return
        fields = {
            "n": self.count,
            "count": self._chunk_count,
            "sum_us": self._sum_ns // _NS_PER_US,
            "us": self._chunk_us,
            # When the last of them ended: the record itself may be written later.
            "end_ns": time.time_ns() - (time.perf_counter_ns() - self._last_ns),
        }
        self._written_ns = time.perf_counter_ns()
        self._chunk_us, self._chunk_count, self._sum_ns = [], 0, 0
        _note("step", fields)


_steps = _Steps()
_checked: dict[str, int] = {}


def _after_fork_in_child() -> None:
    """The parent writes what it has."""
    global _steps
    _steps = _Steps()
    _checked.clear()


os.register_at_fork(after_in_child=_after_fork_in_child)


def step() -> None:
    """Say that a step of the program ends here: once per iteration of its loop."""
    if _recording():
        _steps.step()


def check(name: str, value: Any) -> None:
    """Record a result, such as a loss, which ``compilescope verify`` compares between runs.

    ``value`` is a number, a string, or a tensor: a tensor is read, which waits for its device. Of a tensor
    with more than one element its size, mean, root mean square and largest magnitude are kept.
    """
    if not _recording():
        return
    seen = _checked[name] = _checked.get(name, 0) + 1
    if seen <= _MOST_CHECKS:
        _note("check", {"name": name, "n": seen, "value": _plain(value)})


def flush() -> None:
    """Write the steps that no record holds yet. A recording that ends before the program does needs it."""
    _steps.flush()


def _recording() -> bool:
    # Never imported from here: a program that is not recorded must not load capture, and torch with it.
    capture = sys.modules.get("compilescope.capture")
    return capture is not None and capture.is_attached()


def _note(kind: str, fields: dict[str, object]) -> None:
    capture = sys.modules.get("compilescope.capture")
    if capture is not None:
        capture.note(kind, fields)


def _plain(value: Any) -> object:
    """A JSON value. What is neither a number, a text nor a tensor is known by its type alone."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    try:
        return _digest(value.detach()) if hasattr(value, "detach") else _plain(value.item())
    except Exception:  # a result that cannot be read must not end the program
        return f"<{type(value).__name__}>"


def _digest(tensor: Any) -> object:
    if tensor.numel() == 1:
        return _plain(tensor.item())
    wide = tensor.double()
    numbers = (wide.mean(), wide.square().mean().sqrt(), wide.abs().max())
    return [list(tensor.shape), *(_plain(number.item()) for number in numbers)]
