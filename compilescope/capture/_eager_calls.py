"""After the recompile limit: how many calls run without torch.compile, exactly.

torch writes nothing for them. Its guard-complete hook is called after every guard look-up of a code object
that has entries; a miss that no conversion follows is a call that ran eager. The hook costs about half a
microsecond, so it is set only when the first code object is refused.

The hook is not told which code object missed. With one refused code object there is no question. With
several, the one whose every entry has just counted a failure is it; failing that, the one that was refused
at this call site; failing that, the miss is counted as unattributed, and said to be.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any

from compilescope.capture._conversions import Conversion
from compilescope.capture._head import current_stance
from compilescope.capture._interrupts import deliver_later
from compilescope.capture._patches import HookMissingError
from compilescope.capture._session import Session

UNATTRIBUTED = -1
_IN_CAPTURE = "/compilescope/capture/"


class EagerCalls:
    def __init__(self, session: Session) -> None:
        self._session = session
        self.on_inherited: Callable[[int], None] = lambda _: None
        self.counts: dict[int, int] = {}  # code serial -> guard misses that ran eager
        self._refused: dict[int, weakref.ref[Any]] = {}  # code serial -> code
        self._sites: dict[Any, int] = {}  # call site -> code serial refused there
        self._failures: dict[int, list[int]] = {}
        self._previous: Any = None
        self._installed = False

    def refused(self, conversion: Conversion, serial: int) -> None:
        """A code object hit the limit, or a further call of it went through Dynamo and was refused again."""
        self._refused[serial] = weakref.ref(conversion.code)
        self._sites[conversion.call_site] = serial
        self.counts[serial] = self.counts.get(serial, 0) + 1
        self._failures[serial] = _failures(conversion.code)
        self._install()

    def began(self, conversion: Conversion) -> None:
        """A miss that leads to a conversion is not an eager call: take it back."""
        conversion.call_site = _call_site(sys._getframe(), conversion.code)
        if not self._installed:
            return
        missed, self._session.thread.last_miss = self._session.thread.last_miss, None
        if missed is not None and _has_entries(conversion.code):
            self.counts[missed] -= 1

    def clear(self) -> None:
        """Counts of a forked child start at zero; what was refused stays refused."""
        for serial in self.counts:
            self.counts[serial] = 0

    def remove(self) -> None:
        if self._installed:
            from torch._C._dynamo.eval_frame import set_guard_complete_hook

            current = set_guard_complete_hook(self._previous)
            if current is not self._looked_up and current is not None:
                set_guard_complete_hook(current)
            self._installed = False

    def _install(self) -> None:
        if self._installed:
            return
        from torch._C._dynamo.eval_frame import set_guard_complete_hook

        if not callable(set_guard_complete_hook):
            raise HookMissingError("set_guard_complete_hook is not there")
        self._installed = True
        self._looked_up = self._make()
        self._session.dynamo_loaded(self._looked_up)
        self._previous = set_guard_complete_hook(self._looked_up)

    def _make(self) -> Any:
        session, thread, missed = self._session, self._session.thread, self._missed

        def looked_up(hit: bool) -> Any:
            # torch calls this from C++, where an exception that leaves it ends the process. Even Ctrl-C.
            try:
                if session.active:
                    if not hit:
                        session.safely(missed, sys._getframe(1))
                    else:
                        thread.last_miss = None
                        session.safely(self._hit)
            except BaseException as interrupt:
                deliver_later(interrupt)
            return hit if self._previous is None else self._previous(hit)

        return looked_up

    def _hit(self) -> None:
        """A hit counts failures too, of the entries tried before: no later miss may be judged by them."""
        if len(self._refused) > 1 or current_stance() != "default":
            self.refresh()

    def _missed(self, caller: Any) -> None:
        if current_stance() == "fail_on_recompile":
            return  # this miss raises: nothing runs eager
        serial = self._whose(caller)
        self.counts[serial] = self.counts.get(serial, 0) + 1
        self._session.thread.last_miss = serial

    def _whose(self, caller: Any) -> int:
        if len(self._refused) == 1 and current_stance() == "default":
            (only,) = self._refused
            return only
        before = dict(self._failures)
        self.refresh()
        failed = [serial for serial in self._refused if _all_grew(before[serial], self._failures[serial])]
        if len(failed) == 1:
            return failed[0]
        return self._sites.get(_site(caller), UNATTRIBUTED)

    def refresh(self) -> None:
        """Take the failure counts of every refused code object as they are now."""
        for serial, reference in self._refused.items():
            code = reference()
            self._failures[serial] = [] if code is None else _failures(code)


def _failures(code: Any) -> list[int]:
    """How often the guards of each entry of a code object have failed below the root, as torch counts."""
    from torch._dynamo.eval_frame import _debug_get_cache_entry_list

    return [
        entry.guard_manager.root.fail_count()
        for entry in _debug_get_cache_entry_list(code)
        if hasattr(getattr(entry.guard_manager, "root", None), "fail_count")
    ]


def _all_grew(before: list[int], after: list[int]) -> bool:
    return bool(before) and len(before) == len(after) and sum(after) - sum(before) >= len(after)


def _has_entries(code: Any) -> bool:
    from torch._dynamo.eval_frame import _debug_get_cache_entry_list

    return bool(_debug_get_cache_entry_list(code))


def _call_site(frame: Any, _code: Any) -> Any:
    """The site a frame under conversion was called from: the first frame outside the converter."""
    while frame is not None and (
        frame.f_code.co_filename.endswith("convert_frame.py") or _IN_CAPTURE in frame.f_code.co_filename
    ):
        frame = frame.f_back
    return _site(frame)


def _site(frame: Any) -> Any:
    """Caller and instruction. Compiled callables share torch's compile_wrapper: told apart by its ``fn``."""
    if frame is None:
        return None
    code = frame.f_code
    if code.co_name == "compile_wrapper":
        return (id(code), frame.f_lasti, id(frame.f_locals.get("fn")))
    return (id(code), frame.f_lasti, 0)
