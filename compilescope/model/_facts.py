"""One record -> one value, for records that stand alone."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from compilescope.model import _fields as f
from compilescope.model.values import (
    CompiledTwice,
    CompileId,
    CompileTarget,
    Conversion,
    Guard,
    GuardFailure,
    Limit,
    LogLine,
    PgoLookup,
    Specialized,
)
from compilescope.recording import ProcessRecording, Record


def guard_failure(source: ProcessRecording, record: Record, compile_id: CompileId) -> GuardFailure:
    m = record.m
    return GuardFailure(
        compile_id,
        str(m.get("entry")),
        bool(m.get("newest")),
        source.text(m.get("first")),
        tuple(_guard(source, f.mapping(g)) for g in f.sequence(m.get("failed"))),
        f.mapping(m.get("unchecked")),
        f.mapping(m.get("state")),
        f.mapping(m.get("before")),
        record.th,
    )


def _guard(source: ProcessRecording, m: Any) -> Guard:
    return Guard(
        str(m.get("kind")),
        f.text(m.get("source")),
        tuple(source.text(part) or "" for part in f.sequence(m.get("code"))),
        _told(m.get("got")),
        m.get("old"),
        f.call(m.get("at"), source.file),
        f.mapping(m.get("operands")),
    )


def _told(value: Any) -> dict[str, Any]:
    """A value as capture tells it: without a type it tells nothing."""
    told = dict(f.mapping(value))
    return told if isinstance(told.get("t"), str) else {}


def conversion(source: ProcessRecording, record: Record, compile_id: CompileId | None) -> Conversion | None:
    """None for a code object without a file."""
    m = record.m
    code = f.location(source.file(m.get("file")), m.get("line"), m.get("name"))
    if code is None:
        return None
    return Conversion(
        code,
        f.number(m.get("code")),
        str(m.get("outcome", "earlier")),
        source.text(m.get("reason")),
        f.text(m.get("exception")),
        f.seconds(m.get("wall_us"), 1e-6),
        f.call(m.get("call"), source.file),
        compile_id,
        frozenset(str(name) for name in f.sequence(m["args"])) if "args" in m else None,
    )


def limit(source: ProcessRecording, record: Record, compile_id: CompileId | None) -> Limit | None:
    m = record.m
    code = f.location(source.file(m.get("file")), m.get("line"), m.get("name"))
    if code is None:
        return None
    return Limit(f.number(m.get("code")), code, f.number(m.get("limit")), f.text(m.get("kind")), compile_id)


def target(source: ProcessRecording, record: Record) -> CompileTarget:
    m = record.m
    place = f.location(source.file(f.number(m.get("file"))), m.get("line"), m.get("name"))
    call = f.call(m.get("call"), source.file)
    return CompileTarget(str(m.get("target")), f.text(m.get("name")), place, call, bool(m.get("disabled")))


def specialized(source: ProcessRecording, record: Record, compile_id: CompileId | None) -> Specialized:
    m = record.m
    stack = f.stack(m.get("user_stack"), source.file)
    sources = ", ".join(str(s) for s in f.sequence(m.get("sources")))
    return Specialized(
        compile_id,
        sources or str(m.get("symbol")),
        str(m.get("value")),
        f.text(m.get("reason")),
        stack[-1] if stack else None,
    )


def pgo(m: Mapping[str, Any]) -> PgoLookup | None:
    """None without an outcome."""
    outcome = m.get("outcome")
    if outcome not in ("hit", "miss", "bypass"):
        return None
    took_s = f.seconds(m.get("took_us"), 1e-6)
    return PgoLookup(
        str(outcome), f.text(m.get("reason")), f.text(m.get("key")), f.number(m.get("frames")), took_s
    )


def compiled_twice(m: Mapping[str, Any], compile_id: CompileId | None) -> CompiledTwice | None:
    """None where one assembler made all: then the process loads what the workers compiled."""
    seconds, assemblers = f.seconds(m.get("compiled_s")), f.sequence(m.get("assemblers"))
    if seconds is None or len(assemblers) != 2:
        return None
    workers, process = map(str, assemblers)
    return CompiledTwice(
        compile_id, str(m.get("name")), f.number(m.get("compiled")) or 0, seconds, (workers, process)
    )


def log_line(source: ProcessRecording, record: Record) -> LogLine:
    m = record.m
    return LogLine(str(m.get("logger")), str(m.get("level")), source.text(m.get("text")) or "")


def module_sources(source: ProcessRecording, record: Record) -> frozenset[str]:
    """Sources in a guards record that hold an nn.Module."""
    rows = f.sequence(json.loads(source.text(record.p) or "[]"))
    return frozenset(str(row[0]) for row in rows if "NN_MODULE" in str(row[2]) and _is_whole(str(row[0])))


def _is_whole(source: str) -> bool:
    """A variable or an entry of a module table: torch gives a module's plain attributes its origin too."""
    is_variable = source.count("[") == 1 and "." not in source
    return is_variable or bool(re.search(r"\._modules\['[^']*'\]$", source))


def reasons(payload: str) -> tuple[str, ...]:
    """Torch writes a list when several entries failed, and bare text (not JSON) when one did."""
    try:
        parsed = json.loads(payload)
    except ValueError:
        return (payload,) if payload else ()
    if isinstance(parsed, list):
        return tuple(str(reason) for reason in parsed)
    return (str(parsed),)
