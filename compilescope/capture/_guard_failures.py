"""Why a compiled entry did not fit: every guard that fails on the newest one, with old and new values.

torch names the first failing guard of each entry and stops. A list that grows and a dict that grows on the
same call look like one cause, and fixing that one helps nothing. So all leaf guards of the newest entry are
checked again, in the frame they were checked in, by torch's own checker of that guard.
"""

from __future__ import annotations

from typing import Any

from compilescope.capture._ambient import ambient_state
from compilescope.capture._entries import Entries, Entry
from compilescope.capture._guard_check import Recheck
from compilescope.capture._patches import Patch, Wrapper, patch
from compilescope.capture._session import Session


class GuardFailures:
    def __init__(self, session: Session, entries: Entries) -> None:
        self._session = session
        self._entries = entries

    def install(self) -> Patch:
        from torch._dynamo import guards

        return patch(guards, "get_guard_fail_reason_helper", self._make)

    def _make(self, original: Wrapper) -> Wrapper:
        session = self._session

        def get_guard_fail_reason_helper(guard_manager: Any, f_locals: Any, *args: Any, **kwargs: Any) -> Any:
            reason = original(guard_manager, f_locals, *args, **kwargs)
            if session.active:
                entry_id = args[0] if args else kwargs.get("compile_id")
                session.safely(self._observe, guard_manager, f_locals, entry_id, reason)
            return reason

        return get_guard_fail_reason_helper

    def _observe(self, guard_manager: Any, f_locals: dict[str, Any], entry_id: Any, reason: Any) -> None:
        new = self._session.current_compile_id()
        if new is None:
            return  # explained for a stance that forbids recompiling: no compile follows
        entry = self._newest(entry_id)
        if entry is None:
            return  # torch's own record of the recompile names the first failure of the older entries
        recheck = Recheck(f_locals, guard_manager.global_scope["G"], entry)
        recheck.run(guard_manager.root)
        fields: dict[str, Any] = {
            "entry": None if entry_id is None else str(entry_id),
            "newest": True,
            "first": str(reason),
            "failed": recheck.failed,
            "unchecked": dict(recheck.unchecked),
            "state": ambient_state(),
            "before": entry.state,
        }
        self._session.writer.record("guard_fail", {"m": fields}, c=new)

    def _newest(self, entry_id: Any) -> Entry | None:
        """Entries compiled before capture are unknown: any of them may be the newest, so each is checked."""
        frame, recompile = getattr(entry_id, "frame_id", None), getattr(entry_id, "frame_compile_id", None)
        newest = self._entries.newest(frame) if frame is not None else None
        if newest is None:
            return Entry(recompile or 0)
        return newest if newest.recompile == recompile else None
