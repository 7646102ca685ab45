"""In the user's process: puts a change into torch's settings before the program compiles anything.

Loaded by the bootstrap when ``COMPILESCOPE_APPLY`` is set. Settings are put in right after the module that
holds them was imported by the program, never earlier. At exit it is written down what they were then: a
program may have set them itself.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import sys
from array import array
from collections.abc import Callable
from time import perf_counter_ns, time_ns
from typing import Any

AfterImport = Callable[[str, Callable[[], None]], object]

_CHUNK = 1000
_MOST_TARGETS = 64
_MOST_CALLS = 100_000
_NS_PER_US = 1000
_MOST_WRAPPERS = 4


def apply(text: str, after_import: AfterImport) -> None:
    """``text`` is the JSON of a change: ``settings``, ``ignore_calls``, ``mode``, ``stance``, ``time_calls``.

    Raises ValueError when it is not JSON. ``after_import`` runs a function once a module is there.
    """
    Application(json.loads(text)).start(after_import)


class Application:
    """One change in one process, and what became of it."""

    def __init__(self, change: dict[str, Any]) -> None:
        self._change = change
        self._set: dict[str, Any] = {}
        self._failed: dict[str, str] = {}
        self._calls: _Calls | None = None

    def start(self, after_import: AfterImport) -> None:
        homes: dict[str, list[tuple[str, Any]]] = {}
        for name, value in self._change.get("settings", {}).items():
            homes.setdefault(_home(name), []).append((name, value))
        for module, settings in homes.items():
            after_import(module, functools.partial(self._put_all, settings))
        if self._change.get("mode"):
            after_import("torch._inductor.config", self._put_mode)
        if any(self._change.get(key) for key in ("ignore_calls", "stance", "time_calls")):
            after_import("torch._dynamo", self._change_dynamo)
        atexit.register(self.finish)

    def _change_dynamo(self) -> None:
        if self._change.get("ignore_calls"):
            self._guarded("ignore_calls", _ignore_calls)
        if self._change.get("stance"):
            self._guarded("stance", self._put_stance)
        if self._change.get("time_calls"):
            self._guarded("time_calls", self._time_calls)

    def _put_all(self, settings: list[tuple[str, Any]]) -> None:
        for name, value in settings:
            self._guarded(name, functools.partial(self._put, name, value))

    def _put(self, name: str, value: Any) -> None:
        home = _home(name)
        _put_everywhere(sys.modules[home], name.removeprefix(f"{home}."), value)
        self._set[name] = value

    def _put_mode(self) -> None:
        """A mode is a set of options of Inductor; outside they become its defaults."""
        from torch import _inductor
        from torch._inductor import config

        options = _inductor.list_mode_options(self._change["mode"])
        for name, value in options.items():
            self._guarded(name, functools.partial(_put_everywhere, config, name, value))

    def _put_stance(self) -> None:
        from torch.compiler import set_stance

        set_stance(self._change["stance"])

    def _time_calls(self) -> None:
        from torch._dynamo import eval_frame

        self._calls = _Calls(eval_frame._callback_from_stance)
        eval_frame.skip_code(_Calls.stamped.__code__)
        vars(eval_frame)["_callback_from_stance"] = self._calls.stamped

    def _guarded(self, name: str, part: Callable[[], None]) -> None:
        try:
            part()
        except Exception as problem:
            self._failed[name] = f"{type(problem).__name__}: {problem}"[:500]

    def finish(self) -> None:
        """The last chunk of calls, and whether the settings stayed."""
        if self._calls is not None:
            self._calls.flush()
        for name in self._change.get("settings", {}):
            if name not in self._set and name not in self._failed:
                self._failed[name] = f"the program never imported {_home(name)}"
        changed = {name: repr(now) for name, now in self._at_end() if now != self._set[name]}
        _note("applied", {"set": self._set, "failed": self._failed, "changed_by_program": changed})

    def _at_end(self) -> list[tuple[str, Any]]:
        return [(name, _read(name)) for name in self._set]


class _Calls:
    """When compiled callables are entered. The same place is passed when a stance makes them run eager."""

    def __init__(self, original: Callable[[Any], Any]) -> None:
        self._original = original
        self._targets: dict[int, _Target] = {}
        os.register_at_fork(after_in_child=self._targets.clear)  # the parent writes what it has

    def stamped(self, callback: Any) -> Any:
        if callback not in (None, False):
            self._stamp(callback, perf_counter_ns())
        return self._original(callback)

    def _stamp(self, callback: Any, now_ns: int) -> None:
        target = self._targets.get(id(callback))
        if target is None:
            if len(self._targets) >= _MOST_TARGETS:
                return
            name = _entered_name(sys._getframe(2))
            target = self._targets[id(callback)] = _Target(callback, len(self._targets), name, now_ns)
        target.stamp(now_ns)

    def flush(self) -> None:
        for target in list(self._targets.values()):
            target.flush()


class _Target:
    """One callable. It holds the callback, so that no other gets the same id."""

    def __init__(self, callback: Any, serial: int, name: str, now_ns: int) -> None:
        self._callback = callback
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
            if len(self._at_us) >= _CHUNK:
                self.flush()

    def flush(self) -> None:
        at_us, self._at_us = self._at_us, array("q")
        if at_us or self._calls > _MOST_CALLS:
            fields = {"of": self._serial, "name": self._name, "n": self._calls}
            _note("calls", {**fields, "start_ns": self._start_ns, "at_us": list(at_us)})


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


def _ignore_calls() -> None:
    """print, warnings and logging leave the compiled code, as if behind ``if not is_compiling()``."""
    import logging
    import warnings

    from torch._dynamo import config

    entry: Any = vars(config).get("_config", {}).get("ignore_logging_functions")
    methods = ("debug", "info", "warning", "error", "exception", "critical", "log")
    ignored: list[Any] = [getattr(logging.Logger, name) for name in methods]
    ignored += [print, warnings.warn]
    config.ignore_logging_functions.update(ignored)
    if isinstance(getattr(entry, "default", None), set):
        entry.default.update(ignored)


def _home(name: str) -> str:
    """The module of a setting: names below a ``config`` may have dots of their own, as triton.cudagraphs."""
    home, found, _ = name.partition(".config.")
    return f"{home}.config" if found else name.rpartition(".")[0]


def _read(name: str) -> Any:
    home = _home(name)
    value: Any = sys.modules[home]
    for part in name.removeprefix(f"{home}.").split("."):
        value = getattr(value, part, None)
    return value


def _put_everywhere(module: Any, name: str, value: Any) -> None:
    """Set it for this thread, and as what all others start from: torch's settings are per thread.

    Raises AttributeError for an unknown setting.
    """
    *path, attribute = name.split(".")
    owner = functools.reduce(getattr, path, module)
    getattr(owner, attribute)
    setattr(owner, attribute, value)
    entry = vars(module).get("_config", {}).get(name)
    if getattr(entry, "alias", None) is None and hasattr(entry, "env_value_default"):
        entry.env_value_default = value


def _note(kind: str, fields: dict[str, object]) -> None:
    capture = sys.modules.get("compilescope.capture")
    if capture is not None:
        capture.note(kind, fields)
