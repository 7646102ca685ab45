"""The first screen: the verdict, the totals, what comes first."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widgets import Static

from compilescope.units import count, moment, percent, seconds
from compilescope.views.finding_words import fact_words
from compilescope.views.tui._draw import STRONG, hanging
from compilescope.views.tui._flow import Flow
from compilescope.views.tui._grid import Grid
from compilescope.views.tui._pages import PAGES
from compilescope.views.tui._table_screen import Detail, TableScreen
from compilescope.views.tui._words import number, one_line, wrap
from compilescope.views.tui.tables.shapes import bar

if TYPE_CHECKING:
    from compilescope.analysis.report import Report
    from compilescope.views.tui._pages import Page

_LABEL_CELLS = 14
_BAR_CELLS = 20
_LONGEST = {"program": 1, "not captured": 1}  # lines; on a low screen the findings need the room


class OverviewScreen(TableScreen):
    """The findings under what the run was like."""

    def __init__(self, page: Page) -> None:
        super().__init__(PAGES[1])
        self.page = page

    def body(self) -> ComposeResult:
        with Container(id="overview"):
            with Container(id="left"):
                yield Flow(id="facts")
                yield Static(id="first", markup=False)
                yield Grid(self.rows, id="table")
            yield Detail()

    def show(self, report: Report) -> str | None:
        why = super().show(report)
        self.query_one("#facts", Flow).show(partial(facts, report))
        self.query_one("#first", Static).update("Fix first" if self.rows.total else one_line(why or ""))
        return None

    def open_row(self, row: Any) -> None:
        self.explorer.show_row("findings", self.table.key(row))


def facts(report: Report, width: int) -> Content:
    """Verdict, program, time, compiles, breaks, calls, and what could not be captured."""
    sentences = report.verdict.sentences or ["There is not enough in the recording for a verdict."]
    lines = [Content.styled(line, STRONG) for line in wrap(one_line(" ".join(sentences), 600), width, 5)]
    for label, text in _facts(report):
        if text:
            lines += hanging(label, text, _LABEL_CELLS, width, _LONGEST.get(label, 2))
    return Content("\n").join(lines)


def _facts(report: Report) -> list[tuple[str, str]]:
    totals, recording = report.totals, report.recording
    calls = f"{number(totals.compiled_calls)} ran compiled code, {number(totals.eager_calls)} ran eagerly"
    if totals.uncounted_functions:
        calls += f", those of {count(totals.uncounted_functions, 'skipped function')} are not counted"
    return [
        ("program", one_line(" ".join(recording.command) or recording.name, 300)),
        ("ended", _ended(report)),
        ("compiling", _share(report)),
        ("compiles", _compiles(report)),
        ("last compile", _last(report)),
        ("graph breaks", _breaks(report)),
        ("calls", calls),
        ("not captured", _missing(report)),
        *(("note", one_line(item.text, 300)) for item in report.diagnoses[:3]),
    ]


def _ended(report: Report) -> str:
    recording = report.recording
    how = "no end was recorded" if recording.exit_status is None else f"exited {recording.exit_status}"
    torch = "/".join(sorted({process.torch or "?" for process in report.processes}))
    parts = [
        recording.ended or how,
        f"{seconds(recording.wall_s)} in all" if recording.wall_s is not None else "",
        f"torch {torch}" if torch else "",
        count(len(report.processes), "process", "processes"),
    ]
    if not recording.complete:
        parts.append(f"counts as of {moment(recording.counts_as_of) or 'an unknown time'}")
    return one_line(", ".join(filter(None, parts)), 300)


def _share(report: Report) -> str:
    spent_s, wall_s = report.totals.compile_wall_s, report.recording.wall_s
    if wall_s is None:
        return seconds(spent_s)
    share = report.verdict.compile_share
    text = f"{seconds(spent_s)} of {seconds(wall_s)} ({percent(spent_s, wall_s)})"
    return text if not share else f"{text} {bar(min(share, 1.0), 1.0, _BAR_CELLS)}"


def _compiles(report: Report) -> str:
    totals = report.totals
    parts = [f"{totals.compiles:,}", f"{count(totals.recompiles, 'recompile')} among them"]
    if totals.blocked_by_limit:
        parts.append(f"{totals.blocked_by_limit:,} more refused by the limit")
    if totals.failures:
        parts.append(count(totals.failures, "failure"))
    return ", ".join(parts) if totals.compiles or totals.failures else "none"


def _last(report: Report) -> str:
    settled, last_s = report.verdict.settled, report.verdict.last_compile_s
    if not report.totals.compiles:
        return ""
    if _is_running(report) and last_s is not None:
        return f"ended {seconds(last_s)} after the start"  # what comes next nobody knows
    word = {True: "it settled", False: "it did not settle", None: "whether it settled is unknown"}[settled]
    return word if last_s is None else f"ended {seconds(last_s)} after the start: {word}"


def _is_running(report: Report) -> bool:
    return report.recording.ended == "still running"


def _breaks(report: Report) -> str:
    totals = report.totals
    sites = f"at {count(totals.graph_break_sites, 'line')}"
    return f"{sites}, {count(totals.graph_break_events, 'event')}" if totals.graph_break_sites else "none"


def _missing(report: Report) -> str:
    running = _is_running(report)
    names = (item.fact for item in report.missing if not (running and item.fact == "exit_status"))
    facts = list(dict.fromkeys(map(fact_words, names)))
    damage = sum(len(process.damage) for process in report.processes)
    words = [*facts[:4], *([f"{len(facts) - 4} more"] if len(facts) > 4 else [])]
    if damage:
        words.append(f"what stood in {count(damage, 'damaged place')}")
    return one_line(", ".join(words), 300)
