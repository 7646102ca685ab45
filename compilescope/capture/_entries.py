"""What torch knew about its guards when it made an entry: the user's line behind each, and dict lengths.

The guards themselves are C++ afterwards; their text cuts file names to thirty characters, and the length a
dict is guarded on cannot be asked for. Kept for the newest entry of each frame only.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import msgspec

from compilescope.capture._ambient import ambient_state
from compilescope.capture._patches import Patch, Wrapper, patch
from compilescope.capture._session import Session
from compilescope.capture._stacks import Stacks

MAX_USER_FRAMES = 3
BATCHES, CHECKS = 3, 10


@dataclass(slots=True)
class Entry:
    recompile: int
    lines: dict[tuple[str, str], list[Any]] = field(default_factory=dict)  # (source, kind) -> user frames
    lengths: dict[str, int] = field(default_factory=dict)  # source of a dict -> guarded length
    state: dict[str, Any] = field(default_factory=dict)  # modes in force when it was compiled


class Entries:
    """The newest entry of each frame, as (epoch, frame id)."""

    def __init__(self, session: Session, stacks: Stacks) -> None:
        self._session = session
        self._stacks = stacks
        self._newest: dict[tuple[int, int], Entry] = {}

    def install(self) -> Patch:
        from torch._dynamo.guards import CheckFunctionManager

        return patch(CheckFunctionManager, "__init__", self._make)

    def newest(self, frame: int) -> Entry | None:
        return self._newest.get((self._session.epoch, frame))

    def adopt(self, frame: int, recompile: int) -> None:
        """An entry made before capture: only that it exists is known."""
        known = self._newest.get((self._session.epoch, frame))
        if known is None or known.recompile < recompile:
            self._newest[(self._session.epoch, frame)] = Entry(recompile)

    def _make(self, original: Wrapper) -> Wrapper:
        session = self._session

        def __init__(self_: Any, f_code: Any, output_graph: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            original(self_, f_code, output_graph, *args, **kwargs)
            if session.active:
                session.safely(self._observe, self_, output_graph)

        return __init__

    def _observe(self, manager: Any, output_graph: Any) -> None:
        compile_id = self._session.current_compile_id()
        if compile_id is None or compile_id[0] is None or compile_id[1] is None:
            return
        entry = Entry(compile_id[1], state=ambient_state())
        rows = [self._note(entry, guard) for guard in output_graph.guards]
        self._newest[(self._session.epoch, compile_id[0])] = entry
        root = getattr(getattr(manager, "guard_manager", None), "root", None)
        fields = {"count": len(rows), "hot_check_us": _hot_check_us(root, output_graph.local_scope)}
        self._session.writer.record(
            "guards", {"m": fields}, c=compile_id, payload=msgspec.json.encode(rows), payload_kind="guards"
        )

    def _note(self, entry: Entry, guard: Any) -> list[Any]:
        """Keeps what a recompile will ask for; returns ``[source, kinds, origin, user frames]``."""
        name = guard.name
        name = name() if callable(name) else name
        lines = self._user_lines(guard)
        kinds = list(guard.guard_types or ())
        for kind in kinds:
            entry.lines.setdefault((name, kind), lines)
        for code in guard.code_list or ():
            if code == f"not {name}":
                entry.lengths[name] = 0
            elif code.startswith(f"len({name}) == "):
                entry.lengths[name] = int(code.rsplit(" ", 1)[1])
        origin = getattr(guard.originating_source, "guard_source", None)
        origin = origin() if callable(origin) else origin
        return [name, kinds or [guard.create_fn_name()], getattr(origin, "name", None), lines]

    def _user_lines(self, guard: Any) -> list[Any]:
        """The user's frames behind a guard, innermost first."""
        lines: list[Any] = []
        for frame in reversed(guard.user_stack or ()):
            if self._stacks.is_user_file(frame.filename):
                lines.append([self._stacks.file_id(frame.filename), frame.lineno, frame.name])
                if len(lines) == MAX_USER_FRAMES:
                    break
        return lines


def _hot_check_us(root: Any, f_locals: dict[str, Any]) -> float | None:
    """One pass over the guards with warm caches: the best of a few batches, in the frame just compiled.

    torch's own ``guard_latency_us`` flushes the processor's caches first and is about nine times this.
    """
    if root is None:
        return None
    best = float("inf")
    for _ in range(BATCHES):
        start = time.perf_counter()
        for _ in range(CHECKS):
            root.check(f_locals)
        best = min(best, time.perf_counter() - start)
    return round(best / CHECKS * 1e6, 2)
