"""Lays the summary out: fixed lines first, then the worst facts in the room that is left."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from compilescope.analysis.paths import called
from compilescope.units import count, moment, size
from compilescope.views.finding_words import fact_words
from compilescope.views.text._page import RESET, STYLES, Line, Page, cells
from compilescope.views.text._worst import worst_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compilescope.analysis.report import Bucket, Report, Totals

_LABEL = 11
_NEXT = ("compilescope advise", "compilescope report", "compilescope tui")
_EVERYTHING = "compilescope advise"
_CALLER = re.compile(r"(?P<place>.+:\d+) (?P<function>\S+)")


def render(
    report: Report,
    *,
    width: int = 80,
    color: bool = False,
    max_lines: int = 24,
    ascii: bool = False,
    named: bool = False,
) -> str:
    """The summary as text: at most ``max_lines`` lines of at most ``width`` columns, each ended by a newline.

    ``color`` adds bold, faint and yellow, which never carry meaning alone. ``ascii`` keeps to ASCII for a
    stream that is not UTF-8. ``named``: the next commands name the recording, because without a name they
    would read another one. Below 22 lines or 60 columns those minimums are used.
    """
    page, max_lines = Page(max(width, 60), ascii), max(max_lines, 22)
    head = [*_header(report, page), *_counts(report.totals, page), *_buckets(report, page)]
    tail = [*_not_captured(report, page), *_warnings(report, page), *_where(report, page, named)]
    middle = _middle(report, page, max_lines - len(head) - len(tail))
    return "".join(_paint(line, color) + "\n" for line in [*head, *middle, *tail])


def _header(report: Report, page: Page) -> list[Line]:
    recording = report.recording
    facts = page.clean(
        f" {_ended(report)} · {_torch(report)} · {count(len(report.processes), 'process', 'processes')}"
    )
    program = page.clean(recording.name or " ".join(recording.command) or "program")
    name = page.middle(program, max(page.width - cells(facts) - 14, 30))
    title = page.wrap(f"compilescope: {name}{facts}", page.width, 2)
    verdict = page.wrap(page.clean(" ".join(report.verdict.sentences)), page.width, 4)
    return [*(Line(row, "strong") for row in title), *map(Line, verdict)]


def _ended(report: Report) -> str:
    recording = report.recording
    if recording.ended:
        return recording.ended
    return "ended, how is unknown" if recording.exit_status is None else f"exited {recording.exit_status}"


def _torch(report: Report) -> str:
    """'torch 2.13.0 CPU'; several values are all named, since a mixed run explains itself."""
    versions = {(process.torch or "unknown").removesuffix("+cpu") for process in report.processes}
    devices = {process.device for process in report.processes if process.device}
    names = sorted("CPU" if device.lower() == "cpu" else device for device in devices)
    return " ".join(["torch", "/".join(sorted(versions)) or "unknown", "/".join(names)]).rstrip()


def _counts(totals: Totals, page: Page) -> list[Line]:
    breaks = count(totals.graph_break_sites, "graph break")
    if totals.graph_break_events > totals.graph_break_sites:
        breaks += f" ({count(totals.graph_break_events, 'event')})"
    parts = [
        count(totals.compiles, "compile"),
        count(totals.recompiles, "recompile"),
        f"{totals.blocked_by_limit:,} refused" if totals.blocked_by_limit else "",
        breaks,
        count(totals.failures, "failure") if totals.failures else "",
        count(totals.skipped_frames, "skipped frame") if totals.skipped_frames else "",
        _calls(totals),
        _uncounted(totals),
    ]
    rows: list[str] = []
    row = ""
    for part in filter(None, parts):
        longer = f"{row} {page.dot} {part}" if row else f"  {part}"
        if row and cells(longer) > page.width:
            rows, longer = [*rows, row], f"  {part}"
        row = longer
    return [Line(page.clip(text, page.width)) for text in [*rows, row]]


def _buckets(report: Report, page: Page) -> list[Line]:
    """One line where a bucketed backend was used: whether its rungs served the calls."""
    rungs = [bucket for bucket in report.buckets if bucket.kind not in ("eager", "dynamic")]
    if not report.buckets:
        return []
    hits = [bucket.hits for bucket in rungs if bucket.hits is not None]
    others = [b.hits for b in report.buckets if b.kind in ("eager", "dynamic") and b.hits]
    refused = sum(bool(bucket.refused) and not bucket.elsewhere for bucket in rungs)
    failed = sum(bool(bucket.failed) for bucket in rungs)
    unused = _never_hit(rungs)
    parts = [
        count(len(rungs), "bucket"),
        f"{sum(hits):,} hits" if hits else "hits unknown",
        f"{unused:,} never hit" if unused else "",
        f"{refused:,} refused" if refused else "",
        f"{failed:,} failed" if failed else "",
        f"{count(sum(others), 'call')} outside" if others else "",
    ]
    return [Line(page.clip("  " + f" {page.dot} ".join(filter(None, parts)), page.width))]


def _never_hit(rungs: Sequence[Bucket]) -> int:
    """Rungs that none of a function's graphs used: one for gradients need not be used without."""
    made: dict[tuple[object, ...], list[int | None]] = {}
    for rung in rungs:
        if not rung.refused and not rung.failed:
            key = (rung.process, rung.backend, rung.function, rung.line, rung.rung or str(rung.dims))
            made.setdefault(key, []).append(rung.hits)
    return sum(all(hits == 0 for hits in each) for each in made.values())


def _calls(totals: Totals) -> str:
    compiled, eager = totals.compiled_calls, totals.eager_calls
    if compiled == 0 and eager == 0:
        return "no compiled call"
    if compiled is None or eager is None:
        return f"{count(compiled, 'compiled call')}, {count(eager, 'eager call')}"
    return f"{eager:,} of {count(compiled + eager, 'call')} eager"


def _uncounted(totals: Totals) -> str:
    """Calls that are in neither figure, where there are such figures."""
    if not totals.uncounted_functions or (totals.compiled_calls, totals.eager_calls) == (0, 0):
        return ""
    return f"calls of {count(totals.uncounted_functions, 'skipped function')} not counted"


def _middle(report: Report, page: Page, room: int) -> list[Line]:
    """The worst facts; a run without any shows why (its diagnoses) in their place."""
    verdict = " ".join(report.verdict.sentences)
    texts = [diagnosis.text for diagnosis in report.diagnoses if diagnosis.text not in verdict]
    if report.worst:
        also = _listing("Also: ", texts, page, 2)
        block = worst_lines(report.worst, page, room - 1 - len(also), _EVERYTHING)
        return [Line("FIX FIRST", "strong"), *block, *also]
    if report.totals.graphs or not texts:
        said = report.diagnoses and not report.totals.graphs
        nothing = [] if said else [Line("FIX FIRST", "strong"), Line("  nothing found")]
        return [*nothing, *_listing("Also: ", texts, page, 2)]
    lines = [Line(row) for text in texts for row in page.hanging("  -", text, 4, 3)]
    if len(lines) > room - 1:
        more = f"and more: {_EVERYTHING}"
        lines = [*lines[: room - 2], Line(page.clip(more, page.width), "faint")]
    return [Line("WHY", "strong"), *lines]


def _not_captured(report: Report, page: Page) -> list[Line]:
    places = [report.missing, *(p.missing for p in report.processes), *(g.missing for g in report.graphs)]
    facts = list(dict.fromkeys(f"{fact_words(m.fact)} ({m.reason})" for missing in places for m in missing))
    called = next((_caller(item.called_from) for item in report.worst if item.called_from), None)
    called = page.clean(f"Called from {called}") if called else ""
    if not facts:
        return [Line(row) for row in page.wrap(f"Not captured: nothing. {called}", page.width, 2)]
    lines = _listing("Not captured: ", facts, page, 2)
    return [*lines, Line(page.middle(called, page.width))] if called else lines


def _caller(called_from: str) -> str:
    """'train.py:19 main' reads 'main(), train.py:19'; any other form stays as it is."""
    match = _CALLER.fullmatch(called_from)
    return f"{called(match['function'])}, {match['place']}" if match else called_from


def _warnings(report: Report, page: Page) -> list[Line]:
    recording = report.recording
    damage = [f"{d.kind} at {d.where}: {d.detail}" for p in report.processes for d in p.damage]
    unknown = [f"{kind} ({number:,})" for kind, number in sorted(report.unknown_records.items())]
    lines: list[Line] = []
    if not recording.complete:
        at = moment(recording.counts_as_of)
        counts = f"counts are as of {at}" if at else "its calls were not counted"
        lines += _listing("Incomplete: ", [f"the program did not close its recording; {counts}"], page, 2)
    lines += _listing(f"Damaged: {count(len(damage), 'place')}: ", damage, page, 2)
    lines += _listing("Records this version does not know: ", unknown, page, 1)
    return [Line(line.text, "warn") for line in lines]


def _where(report: Report, page: Page, named: bool) -> list[Line]:
    recording = report.recording
    suffix = f" ({size(recording.size_bytes)})" if recording.size_bytes is not None else ""
    path = page.middle(page.clean(recording.path), page.width - _LABEL - len(suffix))
    return [
        Line("Recording".ljust(_LABEL) + path + suffix),
        Line(_next(page, recording.path if named else None)),
    ]


def _next(page: Page, path: str | None) -> str:
    """As many commands as fit. Where the recording does not fit or cannot be printed, it stands above."""
    which = "" if path is None else f" {shlex.quote(path)}"
    row = "Next".ljust(_LABEL) + _NEXT[0] + which
    if cells(row) > page.width or page.clean(which) != which:
        return "Next".ljust(_LABEL) + f"{_NEXT[0]} RECORDING (that one; report and tui too)"
    for command in (f"{command}{which}" for command in _NEXT[1:]):
        longer = f"{row}     {command}"
        row = longer if cells(longer) <= page.width else row
    return row


def _listing(label: str, entries: list[str], page: Page, max_lines: int) -> list[Line]:
    """``label`` and as many entries as fit, then how many were left out."""
    cleaned = [page.clip(page.clean(entry), page.width * max_lines - len(label) - 20) for entry in entries]
    for shown in range(min(len(cleaned), 20), 0, -1):
        left = len(cleaned) - shown
        text = label + "; ".join(cleaned[:shown]) + (f"; and {left:,} more" if left else "")
        if len(page.wrap(text, page.width, max_lines + 1)) <= max_lines:
            return [Line(row) for row in page.wrap(text, page.width, max_lines)]
    return [Line(page.clip(f"{label}{len(cleaned):,}", page.width))] if cleaned else []


def _paint(line: Line, color: bool) -> str:
    text = line.text.rstrip()
    return f"{STYLES[line.style]}{text}{RESET}" if color and line.style and text else text
