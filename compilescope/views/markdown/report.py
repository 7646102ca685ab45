"""A report as a pull request comment: the verdict, what to fix first, and the rest behind a click."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compilescope.units import count, seconds
from compilescope.views.finding_words import MOST_COMMAND, FindingWords, all_findings, fact_words
from compilescope.views.markdown._escape import block, code, place, plain, prose, table
from compilescope.views.markdown._page import Block, details, page

if TYPE_CHECKING:
    from compilescope.analysis.report import Report

_IN_FULL = 5
_MOST_LISTED = 50
_MOST_ROWS = 100


def render(report: Report) -> str:
    """At most 60,000 characters; what had to be left out is said at the end. Equal reports, equal bytes."""
    return page(list(_blocks(report)))


def _blocks(report: Report) -> Iterator[Block]:
    yield Block("the verdict", _verdict(report))
    yield Block("counts", _counts(report))
    found = all_findings(report)
    if not found:
        yield Block("findings", "Nothing to fix was found.")
    for number, finding in enumerate(found[:_IN_FULL], 1):
        yield Block(f"finding {number}", _finding(number, finding))
    others = found[_IN_FULL:]
    if others:
        yield Block(f"{len(others)} more findings", _others(others))
    for name, title, heads, rows in _tables(report):
        if rows:
            shown = table(heads, rows[:_MOST_ROWS])
            more = f"\n\nand {len(rows) - _MOST_ROWS:,} more" if len(rows) > _MOST_ROWS else ""
            yield Block(name, details(f"{title} ({len(rows):,})", shown + more))
    yield Block("what was not recorded", _conditions(report))


def _verdict(report: Report) -> str:
    recording = report.recording
    name = plain(recording.name or " ".join(recording.command) or "program", 200)
    sentences = [plain(sentence) for sentence in report.verdict.sentences[:6]] or ["No verdict."]
    return "\n\n".join(
        [f"### CompileScope: {name}", f"**{sentences[0]}**", *(" ".join(sentences[1:]),)]
    ).strip()


def _counts(report: Report) -> str:
    totals = report.totals
    names = ("compiles", "graphs", "graph breaks", "recompiles", "limit hits", "failures", "eager calls")
    values = (
        totals.compiles,
        totals.graphs,
        totals.graph_break_sites,
        totals.recompiles,
        totals.limit_hits,
        totals.failures,
        totals.eager_calls,
    )
    shown = ["unknown" if value is None else f"{value:,}" for value in values]
    return table([*(f">{name}" for name in names), ">compiling"], [[*shown, seconds(totals.compile_wall_s)]])


def _finding(number: int, finding: FindingWords) -> str:
    at = place(finding.file, finding.line) or (code(finding.function) if finding.function else "")
    parts = [f"**{number}. {prose(finding.title)}** ({plain(finding.severity)}){' · ' + at if at else ''}"]
    facts = [
        ("changed", "; ".join(finding.changes[:2])),
        ("cost", finding.cost),
        ("fixing saves", finding.saving or ""),
        ("fix", finding.fix or ""),
    ]
    parts += ["\n".join(f"- {name}: {prose(text)}" for name, text in facts if text)]
    if finding.command:
        parts.append(block(finding.command, "sh", longest=MOST_COMMAND))
    if finding.diff:
        parts.append(details("the change", block(finding.diff, "diff")))
    elif finding.code:
        parts.append(block(finding.code.strip("\n"), "python", 12))
    return "\n\n".join(part for part in parts if part)


def _others(found: Sequence[FindingWords]) -> str:
    rows = [
        f"- {prose(f.title, 300)} ({plain(f.severity)}) {place(f.file, f.line)}".rstrip()
        for f in found[:_MOST_LISTED]
    ]
    if len(found) > _MOST_LISTED:
        rows.append(f"- and {len(found) - _MOST_LISTED:,} more")
    return details(count(len(found), "more finding"), "\n".join(rows))


def _tables(report: Report) -> Iterator[tuple[str, str, Sequence[str], list[list[str]]]]:
    yield (
        "recompile limits",
        "Recompile limits",
        ("function", "where", ">limit", ">eager calls"),
        [
            [
                code(row.function, cell=True),
                place(row.file, row.line, cell=True),
                _number(row.limit),
                _number(row.eager_calls),
            ]
            for row in report.limit_hits
        ],
    )
    yield (
        "graph breaks",
        "Graph breaks",
        ("where", "reason", ">events", ">executions"),
        [
            [
                place(row.file, row.line, cell=True),
                plain(row.reason, 160),
                _number(row.events),
                f"{'at least ' if row.ran_at_least else ''}{_number(row.runtime_hits)}",
            ]
            for row in report.graph_breaks
        ],
    )
    yield (
        "recompiles",
        "Recompiles",
        ("function", "what changed", "kind", ">times", ">compiling"),
        [
            [
                code(row.function, cell=True),
                code(row.source, cell=True),
                plain(row.kind.replace("_", " ")),
                _number(row.count),
                seconds(row.wasted_compile_s),
            ]
            for row in report.recompiles
        ],
    )
    yield (
        "failures",
        "Failures",
        ("error", "where", "message"),
        [
            [
                code(row.exception, cell=True),
                place(row.file, row.line, cell=True),
                plain(row.message, 160),
            ]
            for row in report.failures
        ],
    )
    yield (
        "functions",
        "Functions by compile time",
        ("function", "where", ">compiling", ">graphs", "status"),
        [
            [
                code(row.function, cell=True),
                place(row.file, row.line, cell=True),
                seconds(row.compile_s),
                _number(row.graphs),
                plain(row.status),
            ]
            for row in report.frames
        ],
    )


def _conditions(report: Report) -> str:
    recording = report.recording
    versions = ", ".join(f"{name} {version}" for name, version in sorted(recording.versions.items()))
    devices = ", ".join(sorted({p.device for p in report.processes if p.device}))
    lines = [f"- {plain(versions or 'versions unknown')}{'; ' + plain(devices) if devices else ''}"]
    if recording.command:
        lines.append(f"- command: {code(' '.join(recording.command), 300)}")
    if recording.git_revision:
        dirty = " with uncommitted changes" if recording.git_dirty else ""
        lines.append(f"- git: {code(recording.git_revision[:12])}{dirty}")
    if not recording.complete:
        lines.append("- a process did not close its recording: counts may be too low")
    damage = sum(len(process.damage) for process in report.processes)
    if damage:
        lines.append(f"- the recording is damaged in {count(damage, 'place')}: counts may be too low")
    places = (report.missing, *(p.missing for p in report.processes), *(g.missing for g in report.graphs))
    absent = list(dict.fromkeys(f"{fact_words(m.fact)} ({m.reason})" for missing in places for m in missing))
    if absent:
        more = f"; and {len(absent) - 20} more" if len(absent) > 20 else ""
        lines.append(f"- not recorded: {'; '.join(plain(text) for text in absent[:20])}{more}")
    return details("How this was recorded", "\n".join(lines))


def _number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"
