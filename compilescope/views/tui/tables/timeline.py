"""Where compile time went: functions by their phases, and what was open when a process was killed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compilescope.analysis.paths import called
from compilescope.units import percent, seconds
from compilescope.views.tui._card import Card
from compilescope.views.tui._table import Column, Table, Tone, known_first
from compilescope.views.tui._words import one_line, place
from compilescope.views.tui.tables._none import nothing
from compilescope.views.tui.tables.shapes import bar

if TYPE_CHECKING:
    from compilescope.analysis.report import Report
    from compilescope.analysis.report_run import FramePhases, OpenPhase, Phases


@dataclass(frozen=True, slots=True)
class Entry:
    """``spent_s`` of ``of_s``, the longest row."""

    what: str
    spent_s: float | None
    of_s: float
    largest: str
    card: Card
    tone: Tone = ""


def _rows(report: Report) -> list[Entry]:
    phases = report.phases
    longest_s = max((row.compile_s for row in phases.frames), default=0.0)
    rows = [_open(row) for row in phases.open]
    rows += [_frame(row, longest_s) for row in sorted(phases.frames, key=lambda row: -row.compile_s)]
    return [*rows, *([_parallel(phases)] if phases.parallel else [])]


def _frame(row: FramePhases, longest_s: float) -> Entry:
    together = {
        name: row.forward.get(name, 0.0) + row.backward.get(name, 0.0)
        for name in {**row.forward, **row.backward}
    }
    card = Card(
        title=f"compile time of {called(row.function)}",
        file=row.file,
        line=row.line,
        function=row.function,
        process=row.process,
        facts=[("together", seconds(row.compile_s))],
        lists=[("forward", _bars(row.forward)), ("backward", _bars(row.backward))],
    )
    return Entry(row.function, row.compile_s, longest_s, _largest(together), card)


def _open(row: OpenPhase) -> Entry:
    card = Card(
        title="open when the process was killed",
        process=row.process,
        facts=[
            ("thread", row.thread),
            ("innermost for", None if row.open_s is None else seconds(row.open_s)),
        ],
        lists=[("open, outermost first", list(row.stack))],
        compile_ids=[row.compile_id] if row.compile_id else [],
    )
    return Entry(
        "killed in " + (row.stack[-1] if row.stack else "?"),
        row.open_s,
        0.0,
        " > ".join(row.stack),
        card,
        "bad",
    )


def _parallel(phases: Phases) -> Entry:
    card = Card(
        "work of other threads",
        notes=["This ran while compiling threads waited: it is not part of their time."],
        lists=[("phases", _bars(phases.parallel))],
    )
    return Entry("in parallel", sum(phases.parallel.values()), 0.0, _largest(phases.parallel), card, "faint")


def _bars(spent: dict[str, float]) -> list[str]:
    whole = sum(spent.values())
    ranked = sorted(spent.items(), key=lambda item: -item[1])
    return [f"{name:<24} {seconds(s):>9} {percent(s, whole):>5}  {bar(s, whole)}" for name, s in ranked]


def _largest(spent: dict[str, float]) -> str:
    ranked = sorted(spent.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {seconds(spent_s)}" for name, spent_s in ranked[:4])


TIMELINE: Table[Entry] = Table(
    rows=_rows,
    columns=(
        Column(
            "function",
            lambda row: one_line(row.what, 200),
            share=3,
            tone=lambda row: row.tone,
            sort=lambda row: row.what,
        ),
        Column(
            "time",
            lambda row: seconds(row.spent_s),
            width=10,
            right=True,
            sort=lambda row: known_first(row.spent_s),
        ),
        Column(
            "", lambda row: bar(row.spent_s or 0.0, row.of_s), width=24, above=90, about="beside the longest"
        ),
        Column(
            "phases",
            lambda row: one_line(row.largest, 300),
            share=5,
            about="without the phases inside them, the longest first",
        ),
        Column("where", lambda row: place(row.card.file, row.card.line), share=2, cut="left", above=120),
    ),
    card=lambda row: row.card,
    key=lambda row: (row.what, row.card.file, row.card.line, row.card.process, row.largest),
    empty=lambda report: nothing(report, "No phase was recorded: this recording has whole compiles only."),
)
