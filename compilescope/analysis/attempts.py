"""Per recompile, or refused recompile: which guarded things differed from the entry that came closest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from compilescope.analysis import guard_changes, torch_reason
from compilescope.analysis.change import Change, value_type_of
from compilescope.analysis.index import FrameGroup, FrameKey, Index
from compilescope.analysis.nearest import Entries
from compilescope.analysis.wrappers import inside, is_wrapper, unpacked
from compilescope.model import Compile, CompileId, GuardFailure
from compilescope.model.clipped import clipped

# Torch's words for these name no source: what was checked again says the same better.
_SCALARS = (int, float, str, bool, type(None))
_VAGUE = frozenset(("other", "unknown", "constraint", "none_failed"))


@dataclass(frozen=True, slots=True)
class Attempt:
    """``named`` is the subject torch's message puts first. ``refused``: the recompile limit forbade it.

    ``older``: what failed first on each entry but the newest. ``accepted``: differed from the newest entry,
    and not from the one that came closest.
    """

    compile: Compile
    frame: FrameGroup
    changes: tuple[Change, ...]
    named: str | None
    refused: bool
    older: tuple[tuple[int, tuple[Change, ...]], ...] = ()
    accepted: tuple[Change, ...] = ()


class Attempts:
    def __init__(self, index: Index) -> None:
        self._index = index
        self._failures: dict[CompileId, GuardFailure] = {}
        for failure in index.process.guard_failures:
            if failure.newest:
                self._failures[failure.compile] = failure

    @cached_property
    def all(self) -> tuple[Attempt, ...]:
        found = []
        for compiled in self._index.process.compiles.values():
            if is_recompile(compiled) or compiled.refused:
                frame = self._index.frame_of(compiled.id)
                if frame is not None:
                    found.append(self._attempt(compiled, frame))
        return tuple(_nearest(_carry_values(found)))

    def _attempt(self, compiled: Compile, frame: FrameGroup) -> Attempt:
        modules = self._index.modules_of(frame)
        if frame.function == "forward" and not self._index.process.module_sources:
            modules |= {"self"}  # a raw log does not say; the name is a good sign
        failure = self._failures.get(compiled.id)
        first = failure.first if failure and failure.first else newest_reason(compiled.reasons)
        state = guard_changes.modes_of(failure) if failure else {}
        named = guard_changes.from_reason(torch_reason.message_of(first), state, modules) if first else []
        changes: list[Change] = []
        for guard in failure.guards if failure else ():
            changes += guard_changes.from_guard(guard, failure, modules) if failure else []
        named = [self._unpacked(change, frame) for change in named]
        changes = [self._unpacked(change, frame) for change in changes]
        is_told = any(_is_same(change, other) for change in named for other in changes)
        is_vague = bool(changes) and all(change.kind in _VAGUE for change in named)
        if not is_told and not is_vague:
            changes = [*named, *changes]
        older = tuple(self._older(compiled, first, frame, state, modules))
        held = [change for _, others in older for change in others if change.kind == "none_failed"]
        if held:  # what differs from the newest entry made nobody compile: an older one fits
            named = changes = held[:1]
            older = ()
        changes = [self._settled(_plain(change), frame) for change in _distinct(changes)]
        return Attempt(
            compiled,
            frame,
            tuple(changes),
            named[0].subject if named else None,
            refused=compiled.refused,
            older=older,
        )

    def _older(
        self,
        compiled: Compile,
        newest: str | None,
        frame: FrameGroup,
        state: Mapping[str, Any],
        modules: Set[str],
    ) -> Iterator[tuple[int, tuple[Change, ...]]]:
        known = torch_reason.entry_of(newest) if newest else None
        for reason in compiled.reasons:
            entry = torch_reason.entry_of(reason)
            if entry is None or entry == known:
                continue
            read = guard_changes.from_reason(torch_reason.message_of(reason), state, modules)
            told = (self._unpacked(change, frame) for change in read)
            yield int(entry.rpartition("/")[2]), tuple(self._settled(_plain(c), frame) for c in told)

    def _unpacked(self, change: Change, frame: FrameGroup) -> Change:
        own = self._index.wrapped
        if not is_wrapper(frame.code):
            return change
        if own is None:
            return inside(change)
        return unpacked(change, self._index.scopes.positional(own))

    def _settled(self, change: Change, frame: FrameGroup) -> Change:
        """A variable of the frame that is none of its parameters is a free one."""
        if change.root is None or frame.resumed_at is not None:
            return change
        if self._index.wrapped and is_wrapper(frame.code):
            return change
        parameters = self._index.parameters(frame)
        if change.holder == "argument" and not (parameters is None or change.root in parameters):
            return replace(change, holder="closure")
        is_packed = change.holder == "container_item" and change.source.count("[") == 1
        if is_packed and change.root in self._index.scopes.variadic(frame.code):
            return replace(change, holder="argument")
        return change


def _nearest(attempts: Iterable[Attempt]) -> Iterator[Attempt]:
    functions: dict[tuple[FrameKey, int], Entries] = defaultdict(Entries)
    for attempt in attempts:
        compile_id = attempt.compile.id
        entries = functions[attempt.frame.key, compile_id.epoch]
        into = None if attempt.refused else compile_id.recompile
        found = entries.nearest(attempt.changes, attempt.older, into=into)
        yield replace(attempt, changes=found.changes, accepted=found.accepted)


def _plain(change: Change) -> Change:
    """Old and new values as scalars, whatever a recording holds."""
    if isinstance(change.old, _SCALARS) and isinstance(change.new, _SCALARS):
        return change
    old, new = (v if isinstance(v, _SCALARS) else clipped(str(v), 80) for v in (change.old, change.new))
    return replace(change, old=old, new=new)


def _is_same(named: Change, found: Change) -> bool:
    """Whether torch's message is about this change: one value can have another type and another length."""
    return named.subject == found.subject and (named.kind != "type" or found.kind == "type")


def is_recompile(compiled: Compile) -> bool:
    """It produced code, and the code object already had an entry."""
    return compiled.compiled and bool((compiled.cache_size or 0) > 0 or compiled.reasons)


def newest_reason(reasons: Iterable[str]) -> str | None:
    """Of torch's reasons, one per failed entry in order of last use, the one about the newest entry."""
    best, newest = None, -1
    for reason in reasons:
        entry = torch_reason.entry_of(reason)
        number = int(entry.rpartition("/")[2]) if entry else -1
        if best is None or number > newest:
            best, newest = reason, number
    return best


def _distinct(changes: Iterable[Change]) -> list[Change]:
    """One per source: several guards on one value (its type, its identity, its value) tell one story."""
    found: dict[str, Change] = {}
    for change in changes:
        known = found.get(change.source)
        if known is None or (not known.new_known and change.new_known):
            found[change.source] = change
    return list(found.values())


def _carry_values(attempts: list[Attempt]) -> list[Attempt]:
    """Fill values a message leaves out from the neighbors: what one compile met, the next one expects."""
    expected: dict[tuple[object, str], list[tuple[int, object]]] = {}
    for position, attempt in enumerate(attempts):
        for change in attempt.changes:
            expected.setdefault((attempt.frame.key, change.source), []).append((position, change.old))
    carried: list[Attempt] = []
    last: dict[tuple[object, str], object] = {}
    for position, attempt in enumerate(attempts):
        changes = []
        for change in attempt.changes:
            key = (attempt.frame.key, change.source)
            change = _with_old(change, last.get(key))
            change = _with_new(change, position, expected[key])
            if change.new_known:
                last[key] = change.new
            changes.append(change)
        carried.append(replace(attempt, changes=tuple(changes)))
    return carried


def _with_old(change: Change, last_new: object) -> Change:
    known = change.old is not None or change.value_type == "none" or last_new is None
    return change if known or change.kind not in ("value", "identity") else replace(change, old=last_new)


def _with_new(change: Change, position: int, expected: list[tuple[int, object]]) -> Change:
    if change.new_known or change.kind not in ("value", "container_length"):
        return change
    later = next((old for p, old in expected if p > position and old != change.old), None)
    if later is None:
        return change
    value_type = value_type_of(change.old, later) if change.kind == "value" else change.value_type
    return replace(change, new=later, new_known=True, value_type=value_type)
