"""Recompiles grouped by cause: one row per (function, guarded source, kind).

Those that a bucketed model's warm-up makes on purpose have rows of their own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from compilescope.analysis import lengths
from compilescope.analysis.attempts import Attempt, Attempts
from compilescope.analysis.causes_of_frames import BreakOrigins
from compilescope.analysis.change import Change
from compilescope.analysis.index import FrameGroup, Index
from compilescope.analysis.lengths import few
from compilescope.analysis.report import GuardChange, Recompile
from compilescope.analysis.symbolic import fixed_number
from compilescope.model import Compile, Location

# Properties that move together for one reason: a batch that is smaller is smaller in every tensor.
_TOGETHER = frozenset(
    (
        "size",
        "size_one",
        "stride",
        "rank",
        "dtype",
        "device",
        "requires_grad",
        "dispatch_keys",
        "training_mode",
    )
)
_SAME_VALUES = frozenset(("size", "size_one", "training_mode"))


@dataclass(slots=True)
class _Cause:
    frame: FrameGroup
    first: Change
    seen: list[tuple[Attempt, Change]] = field(default_factory=list)
    folded: list[Change] = field(default_factory=list)

    def signature(self) -> tuple[object, ...]:
        """Equal for causes that are one to a person: see ``_TOGETHER``, and the same line of the same class
        run for several objects (``self.seen += 1`` in each block).
        """
        kind = self.first.kind
        ids = tuple(attempt.compile.id for attempt, _ in self.seen)
        values = tuple((c.old, c.new) for _, c in self.seen)
        if kind in _TOGETHER:
            return self.frame.key, kind, ids, values if kind in _SAME_VALUES else ()
        attribute = self.first.source.rpartition(".")[2]
        return self.frame.key, kind, ids, values, self.first.at or id(self), attribute

    def named(self) -> int:
        return sum(attempt.named == change.subject for attempt, change in self.seen)


def recompiles(index: Index, attempts: Attempts, origins: BreakOrigins) -> list[Recompile]:
    causes: dict[tuple[object, ...], _Cause] = {}
    for attempt in attempts.all:
        for change in attempt.changes:
            key = (attempt.frame.key, index.in_warm_up(attempt.compile), *change.key)
            cause = causes.setdefault(key, _Cause(attempt.frame, change))
            cause.seen.append((attempt, change))
    rows = [_row(index, cause, origins) for cause in _fold(list(causes.values()))]
    return sorted(rows, key=_rank)


def _rank(row: Recompile) -> tuple[float, int, int, int, str]:
    return -(row.wasted_compile_s or 0.0), -row.count, -row.blocked_by_limit, -row.named_by_torch, row.source


def _fold(causes: Sequence[_Cause]) -> list[_Cause]:
    groups: dict[tuple[object, ...], list[_Cause]] = defaultdict(list)
    for cause in causes:
        groups[cause.signature()].append(cause)
    kept = []
    for group in groups.values():
        head, *rest = sorted(group, key=lambda cause: -cause.named())
        head.folded = [cause.first for cause in rest]
        kept.append(head)
    return kept


def _row(index: Index, cause: _Cause, origins: BreakOrigins) -> Recompile:
    frame, change = cause.frame, _best(cause)
    cause.seen = _with_numbers(cause.seen)
    made = [(a, c) for a, c in cause.seen if not a.refused]
    refused = [(a, c) for a, c in cause.seen if a.refused]
    caused_by = origins.reference(frame)
    place = place_of(index, frame, change, cause.seen[0][0].compile)
    last = cause.seen[-1][0].compile
    caller = next((p for a, _ in cause.seen if (p := index.user_call(a.compile.call))), None)
    wasted = [(a.compile.wall_s, a.compile.backward_s) for a, _ in made]
    also = _also_failed(cause)
    more: dict[str, int] = {}
    return Recompile(
        function=index.blamed(frame, cause.seen[0][0].compile).function,
        file=index.paths.show(place.file),
        line=place.line,
        kind=change.kind,
        holder=change.holder,
        value_type=change.value_type,
        source=_source(change, frame),
        changes=[(c.old, c.new) for _, c in made],
        count=len(made),
        blocked_by_limit=len(refused),
        also_failed=few(also, lengths.ALSO_FAILED, "also_failed", more),
        also_failed_count=len(also),
        caused_by=caused_by,
        benign=caused_by is None and _is_benign(made, refused, change),
        wasted_compile_s=_total(wasted),
        compile_ids=[str(a.compile.id) for a, _ in cause.seen],
        called_from=index.name_place(caller) if caller else None,
        process=index.process.id,
        code=index.source_line(place.file, place.line),
        named_by_torch=cause.named(),
        blocked_changes=[(c.old, c.new) for _, c in refused],
        thread=last.thread,
        meaning=change.detail,
        warm_up=index.in_warm_up(last),
        also_changed=few(_accepted(cause), lengths.ALSO_FAILED, "also_changed", more),
        more=more,
    )


def _best(cause: _Cause) -> Change:
    """The telling of this cause with the most known: a value type from the values where there are any."""
    change = next((c for _, c in cause.seen if c.new_known), cause.first)
    typed = next(
        (c.value_type for _, c in cause.seen if c.value_type not in (None, "none")), change.value_type
    )
    return replace(change, value_type=typed if change.value_type is not None else None)


def _with_numbers(seen: list[tuple[Attempt, Change]]) -> list[tuple[Attempt, Change]]:
    """A symbol that code fixed to one number after the other (``lr == 0.1`` failed, then ``lr == 0.09``): the
    numbers in place of the relations. Each came where the next compile has it; the last one may be told.
    """
    numbers = [fixed_number(change) for _, change in seen]
    if None in numbers:
        return seen
    told = seen[-1][1].new
    last = told if isinstance(told, int | float) else "other"
    return [
        (attempt, replace(change, old=old, new=new, new_known=True))
        for (attempt, change), old, new in zip(seen, numbers, [*numbers[1:], last], strict=True)
    ]


def place_of(index: Index, frame: FrameGroup, change: Change, compiled: Compile) -> Location:
    """The user's line behind a cause: where the value is used, for a tensor's layout the function itself."""
    used = _used_at(index, change)
    if used and change.from_tensor and not _breaks_at(index, frame, used):
        used = None
    return used or index.blamed(frame, compiled)


def _used_at(index: Index, change: Change) -> Location | None:
    place = change.at
    if place is None and change.comment is not None:
        whole = index.whole_path(change.comment.file)
        place = Location(whole, change.comment.line, change.comment.function) if whole else None
    return place if place and not index.paths.is_torch(place.file) else None


def _breaks_at(index: Index, frame: FrameGroup, place: Location) -> bool:
    return any(
        item.text.file == place.file and item.text.line == place.line
        for compiled in frame.compiles
        for item in index.breaks_of.get(compiled.id, ())
    )


def _source(change: Change, frame: FrameGroup) -> str:
    if change.holder == "resume_value" and frame.resumed_at is not None:
        return f"{change.source} (result of line {frame.resumed_at})"
    return change.source


def _also_failed(cause: _Cause) -> list[GuardChange]:
    others: dict[str, Change] = {change.source: change for change in cause.folded}
    for attempt, own in cause.seen:
        for change in attempt.changes:
            if change.key != own.key:
                others.setdefault(change.source, change)
    return [GuardChange(c.source, c.old, c.new, c.kind) for c in others.values()]


def _accepted(cause: _Cause) -> list[GuardChange]:
    own = {change.source for _, change in cause.seen}
    others = {c.source: c for attempt, _ in cause.seen for c in attempt.accepted if c.source not in own}
    return [GuardChange(c.source, c.old, c.new, c.kind) for c in others.values()]


def _is_benign(
    made: Sequence[tuple[Attempt, Change]], refused: Sequence[tuple[Attempt, Change]], change: Change
) -> bool:
    """One recompile that is right to happen once: train against eval, or one smaller last batch."""
    if refused or len(made) != 1 or len(made[0][0].changes) > lengths.ALSO_FAILED:
        return False
    if change.kind == "training_mode":
        return True
    shrinks = type(change.old) is int and type(change.new) is int and change.new < change.old
    is_batch = change.holder in ("argument", "container_item") and change.source.endswith(" dim 0")
    return change.kind in ("size", "size_one") and shrinks and is_batch


def _total(parts: Sequence[tuple[float | None, float]]) -> float | None:
    known = [wall + backward for wall, backward in parts if wall is not None]
    return round(sum(known), 6) if known or not parts else None
