"""What differs between two recordings, one row a difference, the worst first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compilescope.units import seconds
from compilescope.views.tui._card import Card
from compilescope.views.tui._table import Column, Table, Tone
from compilescope.views.tui._words import number, one_line, place

if TYPE_CHECKING:
    from compilescope.compare.diff import (
        Diff,
        FindingRow,
        FindingsDiff,
        FunctionShape,
        NotCompared,
        Place,
        SizeRange,
    )

NO_BASE = (
    "There is no second recording to compare with. Press c and name one, "
    "or start with compilescope tui RECORDING --compare BASE."
)
_SAME = "Nothing differs: findings, counts, graphs, kernels, sizes and cache keys are the same in both."


@dataclass(frozen=True, slots=True)
class Difference:
    """``worse``: None is neither. ``base`` and ``head`` are short texts of what stood in each."""

    kind: str
    what: str
    base: str
    head: str
    worse: bool | None = None
    file: str | None = None
    line: int | None = None
    function: str | None = None
    notes: Sequence[str] = ()
    lists: Sequence[tuple[str, Sequence[str]]] = ()


def differences(diff: Diff) -> list[Difference]:
    """In the order of their kinds; what got worse before all else."""
    found = [
        *_findings(diff.findings),
        *_counts(diff),
        *_functions(diff),
        *_kernels(diff),
        *_sizes(diff),
        *_keys(diff),
        *(Difference("environment", c.name, c.base or "?", c.head or "?") for c in diff.environment),
        *(_unknown(each) for each in diff.not_compared),
    ]
    return sorted(found, key=lambda each: each.worse is not True)


def _unknown(row: NotCompared) -> Difference:
    base, head = ("?" if row.side in (side, "both") else "" for side in ("base", "head"))
    return Difference("not compared", row.fact, base, head, notes=[row.reason])


def _findings(found: FindingsDiff) -> Iterator[Difference]:
    for row in found.new:
        yield _finding("new finding", row, "", row.severity, True)
    for change in found.changed:
        counts = [f"{c.name}: {number(c.base)} -> {number(c.head)}" for c in change.counts if c.differs]
        made = _finding(
            "finding", change.head, counts[0] if counts else "", change.head.severity, change.worse
        )
        yield Difference(
            made.kind, made.what, made.base, made.head, made.worse, made.file, made.line, made.function,
            made.notes, [("counts", counts)],
        )  # fmt: skip
    for row in found.gone:
        yield _finding("gone finding", row, row.severity, "", False)


def _finding(kind: str, row: FindingRow, base: str, head: str, worse: bool | None) -> Difference:
    what = f"{row.rule}: {row.summary}"
    return Difference(kind, what, base, head, worse, row.file, row.line, row.function, [row.fix])


def _counts(diff: Diff) -> Iterator[Difference]:
    for count in diff.counts:
        if count.differs:
            worse = count.more > 0 if count.bad and count.more else None
            notes = ["this number grows with the length of the run"] if count.per_step else []
            yield Difference("count", count.name, number(count.base), number(count.head), worse, notes=notes)
    for time in diff.times:
        if time.differs:
            before, after = time.base_s or 0.0, time.head_s or 0.0
            yield Difference("time", time.name, _time(time.base_s), _time(time.head_s), after > before)


def _time(value_s: float | None) -> str:
    return "?" if value_s is None else seconds(value_s)


def _functions(diff: Diff) -> Iterator[Difference]:
    for change in diff.functions:
        yield _at(change.place, "function", change.change, _shape(change.base), _shape(change.head))


def _shape(shape: FunctionShape | None) -> str:
    return "" if shape is None else f"{shape.graphs} graphs in {shape.parts} parts"


def _kernels(diff: Diff) -> Iterator[Difference]:
    for kernel in diff.kernels:
        what = f"{kernel.change}: {', '.join(kernel.ops[:4])}"
        base = f"{kernel.base} x{kernel.base_launches}" if kernel.base else ""
        head = f"{kernel.head} x{kernel.head_launches}" if kernel.head else ""
        yield _at(kernel.place, "kernel", what, base, head, [("operators", kernel.ops)])
    for choice in diff.choices:
        what = f"{choice.op} {' '.join(choice.shapes)}"
        notes = ["by the times of either run the two are equally fast"] if choice.draw else []
        base, head = _winner(choice.base, choice.base_ms), _winner(choice.head, choice.head_ms)
        yield _at(choice.place, "tuned choice", what, base, head, notes=notes)


def _winner(name: str, taken_ms: float | None) -> str:
    return name if taken_ms is None else f"{name} {taken_ms:.3g} ms"


def _sizes(diff: Diff) -> Iterator[Difference]:
    for size in diff.sizes:
        lists = [("new", list(map(str, size.new))), ("gone", list(map(str, size.gone)))]
        yield _at(size.place, "sizes", size.name, _range(size.base), _range(size.head), lists)


def _range(found: SizeRange | None) -> str:
    return "" if found is None else f"{found.smallest}..{found.largest} ({found.distinct} sizes)"


def _keys(diff: Diff) -> Iterator[Difference]:
    for key in diff.cache_keys:
        if key.status == "same" and key.base_outcome == key.head_outcome:
            continue
        changes = [f"{c.path} {c.change}: {c.before} -> {c.after}" for c in key.changes]
        what = f"{key.cache} key {key.status}" + (f": {key.changes[0].path}" if key.changes else "")
        worse = True if (key.base_outcome, key.head_outcome) == ("hit", "miss") else None
        yield _at(
            key.place, "cache key", what, key.base_outcome or "?", key.head_outcome or "?",
            [("parts that differ", changes)], [key.reason] if key.reason else [], worse,
        )  # fmt: skip


def _at(
    where: Place,
    kind: str,
    what: str,
    base: str,
    head: str,
    lists: Sequence[tuple[str, Sequence[str]]] = (),
    notes: Sequence[str] = (),
    worse: bool | None = None,
) -> Difference:
    return Difference(kind, what, base, head, worse, where.file, where.line, where.function, notes, lists)


def _card(row: Difference) -> Card:
    return Card(
        title=f"{row.kind}: {row.what}",
        file=row.file,
        line=row.line,
        function=row.function,
        facts=[("base", row.base), ("head", row.head), ("judged", _worse(row))],
        notes=row.notes,
        lists=row.lists,
    )


def _worse(row: Difference) -> str:
    return {True: "worse", False: "better", None: ""}[row.worse]


def _tone(row: Difference) -> Tone:
    return "bad" if row.worse else "faint" if row.kind == "not compared" else ""


COMPARE: Table[Difference] = Table(
    rows=lambda _report: [],
    columns=(
        Column("kind", lambda row: row.kind, width=13, sort=lambda row: row.kind),
        Column("", _worse, width=7, tone=_tone, sort=lambda row: row.worse is True, about="worse or better"),
        Column("what", lambda row: one_line(row.what, 300), share=5, tone=_tone, sort=lambda row: row.what),
        Column("base", lambda row: one_line(row.base, 200), share=2, about="the run compared with"),
        Column("head", lambda row: one_line(row.head, 200), share=2, about="this recording"),
        Column("where", lambda row: place(row.file, row.line), share=2, cut="left", above=100),
    ),
    card=_card,
    key=lambda row: (row.kind, row.what, row.file, row.line, row.function, row.base, row.head),
    empty=lambda _report: _SAME,
)
