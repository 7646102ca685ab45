"""What Dynamo did with each code object it was given: compiled, skipped, refused by the limit, failed.

Skips leave no trace record, and after the recompile limit nothing does; this wrap is their only source.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from compilescope.capture._clipped import clipped
from compilescope.capture._patches import HookMissingError, Patch, Wrapper, patch
from compilescope.capture._session import Session
from compilescope.capture._stacks import Stacks

MAX_REASON = 2000
LIMIT = "Dynamo recompile limit exceeded"


@dataclass(slots=True)
class Conversion:
    """One frame on its way through Dynamo, in one thread."""

    frame: Any
    code: Any
    started: float
    compile_id: Any = None
    error: BaseException | None = None  # raised inside, perhaps swallowed on the way out
    call_site: Any = None  # where the frame was called from


class Conversions:
    def __init__(self, session: Session, stacks: Stacks) -> None:
        self._session = session
        self._stacks = stacks
        self.on_begin: Callable[[Conversion], None] = lambda _: None
        self.on_refused: Callable[[Conversion, int], None] = lambda *_: None
        self.on_compile: Callable[[Any], None] = lambda _: None  # gets the compile id
        self._refused: dict[int, tuple[dict[str, Any], Any]] = {}  # code serial -> its `limit` record
        self.uninteresting = 0

    def install(self) -> list[Patch]:
        from torch._dynamo import convert_frame

        return [
            patch(convert_frame.ConvertFrame, "__call__", self._make),
            patch(convert_frame.ConvertFrameAssert, "__call__", self._make),
        ]

    def install_reasons(self) -> None:
        """Nothing to patch: says whether this torch tells why it leaves a frame alone."""
        from torch._dynamo.types import ConvertFrameReturn

        if not hasattr(ConvertFrameReturn(), "skip_reason"):
            raise HookMissingError("this torch does not say why a frame is skipped (2.13 and later do)")

    def write_inherited(self, serial: int) -> None:
        """In a forked child: name a code object that was refused in the parent and now runs eager here."""
        known = self._refused.get(serial)
        if known is not None:
            fields, compile_id = known
            self._session.writer.record("limit", {"m": {**fields, "inherited": True}}, c=compile_id)

    def _make(self, original: Wrapper) -> Wrapper:
        session = self._session

        def __call__(  # noqa: N807
            self_: Any, frame: Any, cache_entry: Any, hooks: Any, frame_state: Any, skip: int = 0
        ) -> Any:
            # skip + 1: torch cuts that many frames off the stacks it records, and this is one more.
            if not session.active:
                return original(self_, frame, cache_entry, hooks, frame_state, skip=skip + 1)
            outer = self._outer(frame)
            if outer is not None:
                try:
                    return original(self_, frame, cache_entry, hooks, frame_state, skip=skip + 1)
                except BaseException as e:
                    outer.error = e
                    raise
            conversion = session.safely(self._begin, frame)
            result = error = None
            try:
                result = original(self_, frame, cache_entry, hooks, frame_state, skip=skip + 1)
                return result
            except BaseException as e:
                error = e
                raise
            finally:
                if conversion is not None:
                    session.safely(self._end, conversion, result, error)
                del error

        return __call__

    def _outer(self, frame: Any) -> Conversion | None:
        """ConvertFrame calls ConvertFrameAssert for the same frame, and may swallow what that one raises."""
        conversions = self._session.thread.conversions
        return conversions[-1] if conversions and conversions[-1].frame is frame else None

    def _begin(self, frame: Any) -> Conversion:
        conversion = Conversion(frame, frame.f_code, time.perf_counter())
        self._session.thread.conversions.append(conversion)
        self._session.safely(self.on_begin, conversion)
        return conversion

    def _end(self, conversion: Conversion, result: Any, error: BaseException | None) -> None:
        conversions = self._session.thread.conversions
        while conversions and conversions.pop() is not conversion:
            pass
        conversion.frame = None
        swallowed, conversion.error = conversion.error, None
        outcome, reason = _outcome(result, error, swallowed)
        if conversion.compile_id is not None:
            self._session.safely(self.on_compile, conversion.compile_id)
        if self._is_uninteresting(conversion, outcome):
            self.uninteresting += 1
        else:
            self._write(conversion, outcome, reason, error or swallowed)
        if outcome == "limit":
            self._refuse(conversion)

    def _is_uninteresting(self, conversion: Conversion, outcome: str) -> bool:
        """Library code that Dynamo never began to compile: a thousand frames in one compiled backward."""
        library = self._stacks.is_library(conversion.code.co_filename)
        return outcome == "skipped" and conversion.compile_id is None and library

    def _write(
        self, conversion: Conversion, outcome: str, reason: str | None, error: BaseException | None
    ) -> None:
        code = conversion.code
        fields: dict[str, Any] = {
            "name": code.co_name,
            "file": self._stacks.file_id(code.co_filename),
            "line": code.co_firstlineno,
            "code": self._session.code_serial(code),
            "args": _argument_names(code),
            "free": list(code.co_freevars),
            "outcome": outcome,
            "reason": reason,
            "exception": type(error).__name__ if error is not None else None,
            "wall_us": round((time.perf_counter() - conversion.started) * 1e6),
            "call": self._stacks.user_frames(),
        }
        self._session.writer.record("convert", {"m": fields}, c=conversion.compile_id)

    def _refuse(self, conversion: Conversion) -> None:
        serial = self._session.code_serial(conversion.code)
        if serial not in self._refused:
            code = conversion.code
            limit, kind = _limit_in_force(conversion)
            fields = {
                "code": serial,
                "name": code.co_name,
                "file": self._stacks.file_id(code.co_filename),
                "line": code.co_firstlineno,
                "limit": limit,
                "kind": kind,
            }
            self._refused[serial] = (fields, conversion.compile_id)
            self._session.writer.record("limit", {"m": fields}, c=conversion.compile_id)
        self._session.safely(self.on_refused, conversion, serial)


def _argument_names(code: Any) -> list[str]:
    """A local of such a name is an argument; others in a guard come from a closure or a resume point."""
    flags = code.co_flags
    variable = bool(flags & inspect.CO_VARARGS) + bool(flags & inspect.CO_VARKEYWORDS)
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + variable])


def _outcome(
    result: Any, error: BaseException | None, swallowed: BaseException | None
) -> tuple[str, str | None]:
    """The word for what happened and torch's reason. ``swallowed`` did not reach the program."""
    if error is not None:
        return ("limit" if _is_limit(error) else "failed"), _text(error)
    if getattr(result, "guarded_code", None) is not None:
        return "compiled", None
    if swallowed is None:
        return "skipped", getattr(result, "skip_reason", None)
    if _is_limit(swallowed):
        return "limit", _text(swallowed)
    soft = type(swallowed).__name__ in ("Unsupported", "UserError", "SkipFrame")
    return ("skipped" if soft else "suppressed"), _text(swallowed)


def _is_limit(error: BaseException) -> bool:
    """The refusal, as torch raises it: with RUN_ONLY attached, or as a hard failure under fullgraph."""
    if type(error).__name__ == "FailOnRecompileLimitHit":
        return True
    action = getattr(getattr(error, "frame_exec_strategy", None), "cur_action", None)
    return "RUN_ONLY" in str(action) and LIMIT in str(getattr(error, "gb_type", None) or _text(error))


def _text(error: BaseException) -> str | None:
    """torch's exceptions carry their message in ``args``; a user's own __str__ is not run."""
    message = error.args[0] if error.args and type(error.args[0]) is str else None
    return None if message is None else clipped(message, MAX_REASON)


def _limit_in_force(conversion: Conversion) -> tuple[int | None, str]:
    """Which limit refused: the per-code one, or the accumulated one over all entries."""
    from torch._dynamo import config

    entries = _entries(conversion.code)
    limit = getattr(config, "recompile_limit", None)
    accumulated = getattr(config, "accumulated_recompile_limit", None)
    if accumulated is not None and entries is not None and entries >= accumulated and entries != limit:
        return accumulated, "accumulated_recompile_limit"
    return limit, "recompile_limit"


def _entries(code: Any) -> int | None:
    from torch._dynamo.eval_frame import _debug_get_cache_entry_list

    return len(_debug_get_cache_entry_list(code))
