"""Raising an exception in a thread a moment later, once it has left the callback it must not be raised in."""

from __future__ import annotations

import _thread
import ctypes
import sys
import time

SOON_S = 0.001
PATIENCE_S = 1.0
_TORCH = "/torch/"
_OURS = "/compilescope/"


def deliver_later(interrupt: BaseException) -> None:
    """Raise the like of ``interrupt`` in the calling thread when it is back in ordinary Python code."""
    _thread.start_new_thread(_deliver, (_thread.get_ident(), _like(interrupt)))


def _deliver(ident: int, kind: type[BaseException]) -> None:
    """Not while torch is at work: a guard written in Python drops whatever is raised in it, Ctrl-C too."""
    until = time.monotonic() + PATIENCE_S
    while True:
        time.sleep(SOON_S)
        frame = sys._current_frames().get(ident)
        if frame is None:
            return  # the thread has ended
        file = frame.f_code.co_filename
        if time.monotonic() > until or (_TORCH not in file and _OURS not in file):
            break
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(kind))


def _like(interrupt: BaseException) -> type[BaseException]:
    """CPython instantiates the class without arguments: make one that fills in those of the original."""
    kind = type(interrupt)
    if not interrupt.args:
        return kind

    def __init__(self: BaseException, *_: object) -> None:  # noqa: N807
        kind.__init__(self, *interrupt.args)

    namespace = {"__init__": __init__, "__module__": kind.__module__, "__qualname__": kind.__qualname__}
    return type(kind.__name__, (kind,), namespace)
