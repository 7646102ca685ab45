"""``run.json``, what the parent process wrote about the run: only fields of the types it writes are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from compilescope.recording.damage import DamageLog
from compilescope.recording.format import RUN

_Time = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)] | None


class _Target(msgspec.Struct):
    kind: str | None = None
    name: str | None = None


class _Git(msgspec.Struct):
    revision: str | None = None
    dirty: bool | None = None


_TYPES: Mapping[str, Any] = {
    "command": list[str] | None,
    "target": _Target | None,
    "cwd": str | None,
    "started_ns": _Time,
    "ended_ns": _Time,
    "exit_status": Annotated[int, msgspec.Meta(ge=-255, le=255)] | None,
    "signal": str | None,
    "git": _Git | None,
    "env": list[str] | None,
    "notes": list[str] | None,
}


def parse_run(content: bytes, damage: DamageLog) -> dict[str, Any] | None:
    """None, and a damage entry, if it is no JSON object; an entry for each field of another type."""
    try:
        run = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        run = None
    if type(run) is not dict:
        damage.add("bad-run", RUN, 0, "what the parent process wrote about the run")
        return None
    for name, kind in _TYPES.items():
        try:
            msgspec.convert(run.get(name), kind)
        except (msgspec.ValidationError, RecursionError):
            damage.add("bad-run", RUN, 0, f"{name} has an unexpected type")
            run[name] = None
    return run
