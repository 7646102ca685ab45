"""What a profile looks like below its cell: a page of plain HTML that survives every viewer of notebooks.

No script, no style, no picture, and no element but those that every sanitizer lets pass: nbconvert's turns
even paragraphs and the parts of tables into text. Bars are block characters.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from compilescope.units import count, percent, seconds, visible
from compilescope.views.finding_words import all_findings

if TYPE_CHECKING:
    from compilescope.analysis.report import Frame, Report
    from compilescope.views.finding_words import FindingWords

MAX_BYTES = 30_000
_FINDINGS = 5
_FRAMES = 8
_LONGEST = 300
_BAR = 20


def card(report: Report, path: str) -> str:
    """At most 30 kB of HTML, whatever was recorded."""
    for findings, frames in ((_FINDINGS, _FRAMES), (3, 3), (1, 0), (0, 0)):
        text = "\n".join(_parts(report, path, findings, frames))
        if len(text.encode("utf-8", "backslashreplace")) <= MAX_BYTES:
            break
    return text


def _parts(report: Report, path: str, findings: int, frames: int) -> Iterator[str]:
    yield "<div>"
    yield f"<div><b>CompileScope</b> {_text(' '.join(report.verdict.sentences))}</div>"
    yield from (f"<div>{_text(diagnosis.text)}</div>" for diagnosis in report.diagnoses[:3])
    yield from _alerts(report)
    yield _totals(report)
    yield from _first(all_findings(report), findings)
    yield from _frames(report, frames)
    yield "<div>Everything, with code: <code>show()</code> of this profile,"
    yield f"<code>%%compilescope --show</code>, or <code>compilescope report {_text(path)}</code></div>"
    yield "</div>"


def _alerts(report: Report) -> Iterator[str]:
    if not report.recording.complete:
        yield "<div>⚠ Incomplete: the recording was not closed.</div>"
    damage = sum(len(process.damage) for process in report.processes)
    if damage:
        yield f"<div>⚠ {count(damage, 'place')} of the recording could not be read.</div>"
    missing = [m.fact for m in report.missing] + [m.fact for p in report.processes for m in p.missing]
    if missing:
        more = f" and {len(missing) - 4} more" if len(missing) > 4 else ""
        yield f"<div>Not captured: {_text(', '.join(missing[:4]))}{more}.</div>"


def _totals(report: Report) -> str:
    totals = report.totals
    figures = [
        f"compiling <b>{seconds(totals.compile_wall_s)}</b>"
        f" ({percent(totals.compile_wall_s, report.recording.wall_s)})",
        f"compiles <b>{totals.compiles:,}</b>",
        f"recompiles <b>{totals.recompiles:,}</b>",
        f"graph breaks <b>{totals.graph_break_sites:,}</b>",
        f"eager calls <b>{_number(totals.eager_calls)}</b>{_uncounted(report)}",
        f"failures <b>{totals.failures:,}</b>",
    ]
    return f"<div>{' · '.join(figures)}</div>"


def _uncounted(report: Report) -> str:
    functions = report.totals.uncounted_functions
    return f" (those of {count(functions, 'skipped function')} not counted)" if functions else ""


def _first(found: list[FindingWords], most: int) -> Iterator[str]:
    shown = [finding for finding in found if finding.severity != "note"]
    if shown and most:
        yield "<div><b>Fix first</b></div>"
        yield f"<ol>{''.join(map(_finding, shown[:most]))}</ol>"
    if len(shown) > most:
        yield f"<div>and {count(len(shown) - most, 'more finding')}</div>"


def _finding(finding: FindingWords) -> str:
    parts = [
        f"<b>{_text(finding.title)}</b> <code>{_text(finding.place)}</code> ({_text(finding.severity)})",
        f"<code>{_text(finding.code)}</code>" if finding.code else "",
        f"cost: {_text(finding.cost)}" if finding.cost else "",
        f"change: {_text(finding.fix)}" if finding.fix else "",
    ]
    return f"<li>{''.join(f'<div>{part}</div>' for part in parts if part)}</li>"


def _frames(report: Report, most: int) -> Iterator[str]:
    ranked = sorted(report.frames, key=lambda frame: -(frame.compile_s or 0.0))
    if not ranked or not most:
        return
    longest_s = ranked[0].compile_s or 0.0
    yield "<div><b>Functions</b>, by compile time</div>"
    yield f"<ul>{''.join(_frame(frame, longest_s) for frame in ranked[:most])}</ul>"
    if len(ranked) > most:
        yield f"<div>and {count(len(ranked) - most, 'more function')}</div>"


def _frame(frame: Frame, longest_s: float) -> str:
    calls = f"{_number(frame.compiled_calls)} compiled and {_number(frame.eager_calls)} eager calls"
    place = f"<code>{_text(frame.function)}</code> {_text(frame.file)}:{frame.line}"
    bar = _bar(frame.compile_s, longest_s)
    return f"<li>{place}: {_text(frame.status)}, {seconds(frame.compile_s)}{bar}, {calls}</li>"


def _bar(spent_s: float | None, longest_s: float) -> str:
    if not spent_s or not longest_s:
        return ""
    return " " + "█" * max(round(_BAR * spent_s / longest_s), 1)


def _number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def _text(text: str) -> str:
    shown = visible(text)
    return escape(shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…")
