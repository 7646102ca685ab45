"""Processes of one run side by side: a rank that compiles more than the others keeps them waiting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compilescope.analysis.paths import called
from compilescope.units import seconds
from compilescope.views.finding_words import fact_words
from compilescope.views.tui._card import Card
from compilescope.views.tui._table import Column, Table, Tone, known_first
from compilescope.views.tui._words import number, one_line
from compilescope.views.tui.tables._none import nothing

if TYPE_CHECKING:
    from compilescope.analysis.report import Frame, ProcessInfo, Report


@dataclass(frozen=True, slots=True)
class Entry:
    """Sums over the frames of one process; None where no frame knows."""

    process: ProcessInfo
    compile_s: float | None
    compiles: int
    recompiles: int
    compiled_calls: int | None
    eager_calls: int | None
    slowest: str


def _rows(report: Report) -> list[Entry]:
    frames: dict[str, list[Frame]] = {}
    for frame in report.frames:
        frames.setdefault(frame.process, []).append(frame)
    return [_entry(process, frames.get(process.id, [])) for process in report.processes]


def _entry(process: ProcessInfo, frames: list[Frame]) -> Entry:
    slowest = max(frames, key=lambda frame: frame.compile_s or 0.0, default=None)
    return Entry(
        process,
        _total(frames, lambda frame: frame.compile_s),
        sum(len(frame.compile_ids) for frame in frames),
        sum(frame.recompiles for frame in frames),
        _whole(_total(frames, lambda frame: frame.compiled_calls)),
        _whole(_total(frames, lambda frame: frame.eager_calls)),
        f"{called(slowest.function)} {seconds(slowest.compile_s)}" if slowest is not None else "",
    )


def _total(frames: list[Frame], of: Callable[[Frame], float | None]) -> float | None:
    known = [found for frame in frames if (found := of(frame)) is not None]
    return sum(known) if known else None


def _whole(total: float | None) -> int | None:
    return None if total is None else int(total)


def _name(row: Entry) -> str:
    return row.process.id if row.process.rank is None else f"rank {row.process.rank}"


def _card(row: Entry) -> Card:
    process = row.process
    return Card(
        title=_name(row),
        process=process.id,
        facts=[
            ("ended", process.ended),
            ("device", process.device),
            ("torch", process.torch),
            ("compile time", seconds(row.compile_s)),
            ("compiles", f"{row.compiles:,}, {row.recompiles:,} of them again"),
            ("calls", f"{number(row.compiled_calls)} compiled, {number(row.eager_calls)} eager"),
            ("slowest", row.slowest),
        ],
        lists=[("not captured", [f"{fact_words(item.fact)}: {item.reason}" for item in process.missing])],
    )


def _tone(row: Entry) -> Tone:
    return "bad" if row.process.damage else ""


RANKS: Table[Entry] = Table(
    rows=_rows,
    columns=(
        Column(
            "process", _name, share=2, tone=_tone, sort=lambda row: (row.process.rank or 0, row.process.id)
        ),
        Column(
            "compile time",
            lambda row: seconds(row.compile_s),
            width=13,
            right=True,
            sort=lambda row: known_first(row.compile_s),
        ),
        Column(
            "compiles", lambda row: number(row.compiles), width=9, right=True, sort=lambda row: row.compiles
        ),
        Column(
            "again",
            lambda row: number(row.recompiles),
            width=7,
            right=True,
            sort=lambda row: row.recompiles,
            about="recompiles among them",
        ),
        Column(
            "eager calls",
            lambda row: number(row.eager_calls),
            width=12,
            right=True,
            above=70,
            sort=lambda row: known_first(row.eager_calls),
        ),
        Column("slowest", lambda row: one_line(row.slowest, 200), share=3, above=90),
        Column("ended", lambda row: one_line(row.process.ended or "?", 100), share=2),
    ),
    card=_card,
    key=lambda row: row.process.id,
    empty=lambda report: nothing(report, "No process left a recording."),
)
