"""In the user's process: puts a change into torch's settings before the program compiles anything.

Loaded by the bootstrap when ``COMPILESCOPE_APPLY`` is set. Settings are put in right after the module that
holds them was imported by the program, never earlier, and again at the first compiled call, over what the
program set itself meanwhile. At exit it is written down what they were then.
"""

from __future__ import annotations

import atexit
import functools
import inspect
import json
import re
import sys
from collections.abc import Callable
from typing import Any

from compilescope.trial._apply_calls import Calls

AfterImport = Callable[[str, Callable[[], None]], object]

_DYNAMIC_SOURCES = "torch.compiler.config.dynamic_sources"
_NO_RESULTS = ("runtime", "per_second", "total_flos", "_time")


def apply(text: str, after_import: AfterImport) -> None:
    """``text`` is the JSON of a change: ``settings``, ``ignore_calls``, ``mode``, ``stance``, ``time_calls``,
    ``buckets``, ``check_ops``.

    Raises ValueError when it is not JSON. ``after_import`` runs a function once a module is there.
    """
    Application(json.loads(text)).start(after_import)


class Application:
    """One change in one process, and what became of it."""

    def __init__(self, change: dict[str, Any]) -> None:
        self._change = change
        self._set: dict[str, Any] = {}
        self._failed: dict[str, str] = {}
        self._overridden: dict[str, str] = {}
        self._calls: Calls | None = None
        self._check_ops: Callable[[], None] = lambda: None

    def start(self, after_import: AfterImport) -> None:
        homes: dict[str, list[tuple[str, Any]]] = {}
        for name, value in self._change.get("settings", {}).items():
            homes.setdefault(_home(name), []).append((name, value))
        for module, settings in homes.items():
            after_import(module, functools.partial(self._put_all, settings))
        if _DYNAMIC_SOURCES in self._change.get("settings", {}):
            whole = functools.partial(self._guarded, _DYNAMIC_SOURCES, self._name_whole_sources)
            after_import("torch._dynamo.variables.builder", whole)
        if self._change.get("mode"):
            after_import("torch._inductor.config", self._put_mode)
        if any(self._change.get(key) for key in ("ignore_calls", "stance", "time_calls")):
            after_import("torch._dynamo", self._change_dynamo)
        for key, part in (("buckets", self._wrap_compile), ("check_ops", self._sample_ops)):
            if self._change.get(key):
                self._guarded(key, part)
        if self._change.get("time_calls"):
            after_import("transformers.trainer", functools.partial(self._guarded, "trainer", _hear_trainer))
        atexit.register(self.finish)

    def _wrap_compile(self) -> None:
        from compilescope.trial._apply_buckets import wrap_compile

        wrap_compile(self._change["buckets"])

    def _sample_ops(self) -> None:
        from compilescope.trial._apply_ops import OpSamples

        samples = OpSamples(_note)
        samples.install()
        self._check_ops = samples.check

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

    def _name_whole_sources(self) -> None:
        """Before dimensions could be named (torch 2.11), a source made all of its dimensions dynamic."""
        from torch._dynamo.variables import builder

        if "dim" not in inspect.signature(builder.is_dynamic_source).parameters:
            named = self._change["settings"][_DYNAMIC_SOURCES]
            self._put(_DYNAMIC_SOURCES, re.sub(r":\d+(?=,|$)", "", named))

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

        self._calls = Calls(eval_frame._callback_from_stance, self._put_again, _note)
        eval_frame.skip_code(Calls.stamped.__code__)
        vars(eval_frame)["_callback_from_stance"] = self._calls.stamped

    def _put_again(self) -> None:
        """At the first compiled call: a program that has its own settings put them in by now."""
        for name, value in list(self._set.items()):
            theirs = _read(name)
            if theirs != value:
                self._overridden[name] = repr(theirs)[:80]
                self._guarded(name, functools.partial(self._put, name, value))

    def _guarded(self, name: str, part: Callable[[], None]) -> None:
        try:
            part()
        except Exception as problem:
            self._failed[name] = f"{type(problem).__name__}: {problem}"[:500]

    def finish(self) -> None:
        """The last chunk of calls, and whether the settings stayed."""
        if self._calls is not None:
            self._calls.flush()
        self._guarded("check_ops", self._check_ops)
        for name in self._change.get("settings", {}):
            if name not in self._set and name not in self._failed:
                self._failed[name] = f"the program never imported {_home(name)}"
        changed = {name: repr(now) for name, now in self._at_end() if now != self._set[name]}
        told = {"set": self._set, "failed": self._failed, "changed_by_program": changed}
        _note("applied", {**told, "overridden": self._overridden})

    def _at_end(self) -> list[tuple[str, Any]]:
        return [(name, _read(name)) for name in self._set]


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


def _hear_trainer() -> None:
    """What ``transformers.Trainer`` logs are results, apart from times."""
    trainer = sys.modules["transformers.trainer"].Trainer
    original, seen = trainer.log, dict[str, int]()

    def log(self: Any, logs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        for name, value in logs.items():
            if isinstance(value, int | float) and not name.endswith(_NO_RESULTS):
                seen[name] = seen.get(name, 0) + 1
                plain = value if abs(value) < float("inf") else str(value)
                _note("check", {"name": f"Trainer {name}", "n": seen[name], "value": plain})
        return original(self, logs, *args, **kwargs)

    trainer.log = functools.wraps(original)(log)


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
