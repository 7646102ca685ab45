"""What one capture in one process knows: where it writes, the epoch, what each thread is compiling.

Every hook runs its own part through :meth:`Session.safely`. Two promises are kept there: an exception in it
is counted as lost and never reaches the program, and Dynamo does not look at our frames. Where its frame
evaluation is on while a hook runs (compiled autograd does this), it would compile the hook itself.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from compilescope.recording.writer import Writer

T = TypeVar("T")
CompileId = tuple[int | None, int | None, int, int]  # frame, recompile, attempt, epoch

HOOK_FAILED = "hook failed"


class ThreadState(threading.local):
    """What this thread is doing for Dynamo."""

    def __init__(self) -> None:
        self.conversions: list[Any] = []  # frames being converted, innermost last
        self.last_miss: Any = None  # the guard miss that a conversion may turn out to explain


class Session:
    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.active = True
        self.epoch = 0
        self.thread = ThreadState()
        self._set_eval_frame: Callable[[Any], Any] = lambda _: None
        self._serials = itertools.count()
        self._codes: dict[int, tuple[int, Any]] = {}  # id -> serial, weak reference that clears the entry

    def safely(self, part: Callable[..., T], *args: Any, **kwargs: Any) -> T | None:
        """Run our part of a hook. Its failure costs one counted record, never the program."""
        before = self._set_eval_frame(None)
        try:
            return part(*args, **kwargs)
        except Exception as error:
            try:
                name = getattr(part, "__qualname__", "?")
                self.writer.lost(f"{HOOK_FAILED}: {name}: {type(error).__name__}")
            except Exception:
                pass
            return None
        finally:
            self._set_eval_frame(before)

    def dynamo_loaded(self, *entry_points: Any) -> None:
        """From now on hooks run with frame evaluation off; the functions they are entered by are skipped."""
        from torch._dynamo.eval_frame import set_eval_frame, skip_code

        for function in (*entry_points, Session.safely):
            skip_code(function.__code__)
        self._set_eval_frame = set_eval_frame

    def code_serial(self, code: Any) -> int:
        """A small number for a code object. Equal code objects of two functions are told apart."""
        key = id(code)
        known = self._codes.get(key)
        if known is None:
            gone = weakref.ref(code, lambda _: self._codes.pop(key, None))
            known = self._codes.setdefault(key, (next(self._serials), gone))
        return known[0]

    def compiled_autograd_id(self) -> int | None:
        from torch._guards import CompileContext

        trace_id = CompileContext.current_trace_id()
        return None if trace_id is None else trace_id.compile_id.compiled_autograd_id

    def current_compile_id(self) -> CompileId | None:
        """The compile id torch is working on in this thread, as records carry it."""
        from torch._guards import CompileContext

        trace_id = CompileContext.current_trace_id()
        if trace_id is None:
            return None
        compile_id = trace_id.compile_id
        return (compile_id.frame_id, compile_id.frame_compile_id, trace_id.attempt, self.epoch)
