"""In the user's process: notes when compiled callables are entered, which is what a step is told by."""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Callable
from time import perf_counter_ns, time_ns
from typing import Any

CHUNK = 1000
MOST_TARGETS = 64
_MOST_CALLS = 100_000
_NS_PER_US = 1000
_MOST_WRAPPERS = 4

Note = Callable[[str, dict[str, object]], None]


class Calls:
    """When compiled callables are entered. The same place is passed when a stance makes them run eager."""

    def __init__(self, original: Callable[[Any], Any], on_first: Callable[[], None], note: Note) -> None:
        self._original = original
        self._note = note
        self._on_first: Callable[[], None] | None = on_first
        self._targets: dict[int, _Target] = {}
        os.register_at_fork(after_in_child=self._targets.clear)  # the parent writes what it has

    def stamped(self, callback: Any) -> Any:
        if callback not in (None, False):
            if self._on_first is not None:
                first, self._on_first = self._on_first, None
                first()
            self._stamp(callback, perf_counter_ns())
        return self._original(callback)

    def _stamp(self, callback: Any, now_ns: int) -> None:
        target = self._targets.get(id(callback))
        if target is None:
            if len(self._targets) >= MOST_TARGETS:
                return
            name = _entered_name(sys._getframe(2))
            target = self._targets[id(callback)] = _Target(
                callback, len(self._targets), name, now_ns, self._note
            )
        target.stamp(now_ns)

    def flush(self) -> None:
        for target in list(self._targets.values()):
            target.flush()


class _Target:
    """One callable. It holds the callback, so that no other gets the same id."""

    def __init__(self, callback: Any, serial: int, name: str, now_ns: int, note: Note) -> None:
        self._callback = callback
        self._note = note
        self._serial = serial
        self._name = name
        self._calls = 0
        self._start_ns = time_ns() - (perf_counter_ns() - now_ns)
        self._zero_ns = now_ns
        self._at_us = array("q")

    def stamp(self, now_ns: int) -> None:
        self._calls += 1
        if self._calls <= _MOST_CALLS:
            self._at_us.append((now_ns - self._zero_ns) // _NS_PER_US)
            if len(self._at_us) >= CHUNK:
                self.flush()

    def flush(self) -> None:
        at_us, self._at_us = self._at_us, array("q")
        if at_us or self._calls > _MOST_CALLS:
            fields = {"of": self._serial, "name": self._name, "n": self._calls}
            self._note("calls", {**fields, "start_ns": self._start_ns, "at_us": list(at_us)})


def _entered_name(frame: Any) -> str:
    """What ``compile_wrapper`` is about to call, as a person would name it: behind torch's own wrappers."""
    function = frame.f_locals.get("fn")
    for _ in range(_MOST_WRAPPERS):
        owner = getattr(function, "__self__", None)
        if owner is not None:
            return type(owner).__name__
        inner = _wrapped_by(function)
        if inner is None:
            break
        function = inner
    return str(getattr(function, "__qualname__", type(function).__name__))


def _wrapped_by(function: Any) -> Any:
    """The function inside a wrapper of torch's own; None where there is none."""
    code = getattr(function, "__code__", None)
    if getattr(function, "__module__", None) != "torch._dynamo.external_utils" and not hasattr(
        function, "__wrapped__"
    ):
        return None
    names = getattr(code, "co_freevars", ())
    cells = getattr(function, "__closure__", None) or ()
    return dict(zip(names, (cell.cell_contents for cell in cells), strict=False)).get("fn")
