"""What is checked before each call, and what that costs: for the detail options of the summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from compilescope import units
from compilescope.units import percent, seconds
from compilescope.views.text._columns import table
from compilescope.views.text._page import Page

if TYPE_CHECKING:
    from compilescope.analysis.report import Graph, GuardCost, Report
    from compilescope.analysis.report_graph import SourceLine


def guard_blocks(report: Report, graphs: Sequence[Graph], page: Page, *, listed: bool) -> list[list[str]]:
    """The functions by the share of a call their guards take, then graphs by what theirs cost in all.

    ``listed``: the guards themselves, too.
    """
    known = [(g, g.guards) for g in graphs if g.guards is not None]
    if not known:
        return [["No guard was recorded."]]

    def spent_us(graph: Graph, hot_us: float | None) -> float:
        return (hot_us or 0.0) * (graph.calls or 0)

    known.sort(key=lambda pair: -spent_us(pair[0], pair[1].hot_check_us))
    rows = [
        [
            f"[{g.compile_id}]",
            g.function,
            number(found.count),
            microseconds(found.hot_check_us),
            number(g.calls),
            seconds(spent_us(g, found.hot_check_us) * 1e-6) if found.hot_check_us is not None else "?",
            ", ".join(f"{n} {kind}" for kind, n in sorted(found.by_kind.items(), key=lambda kn: -kn[1])[:3]),
        ]
        for g, found in known
    ]
    heads = ["graph", "function", ">guards", ">one check", ">calls", ">all calls", "kinds"]
    blocks = [*_costs(report, graphs, page), ["GUARDS checked before each call", *table(page, heads, rows)]]
    for graph, found in known if listed else ():
        lines = [[row.source, ", ".join(row.kinds), at(row.at)] for row in found.rows]
        if lines:
            left = found.more.get("rows", 0)
            rest = [f"  and {left:,} more guards"] if left else []
            drawn = table(page, ["expression", "for", "because of"], lines)
            blocks.append([f"[{graph.compile_id}]", *drawn, *rest])
    return blocks


def _costs(report: Report, graphs: Sequence[Graph], page: Page) -> list[list[str]]:
    places = {(g.process, g.file, g.line) for g in graphs}
    found = [cost for cost in report.guard_costs if (cost.process, cost.file, cost.line) in places]
    if not found:
        return []
    rows = [
        [
            cost.function,
            number(cost.entries),
            microseconds(cost.check_us),
            microseconds(cost.call_us),
            "unknown" if cost.share is None or cost.call_us is None else percent(cost.share, 1),
            "" if cost.call_basis is None else cost.call_basis.split(":", 1)[0],
            f"{cost.file}:{cost.line}",
        ]
        for cost in found
    ]
    heads = ["function", ">entries", ">one check", ">one call", ">share", "call is", "at"]
    notes = [_basis(found[0])]
    if any(cost.entries > 1 for cost in found):
        notes.append("A call that tries several entries checks more than is counted here.")
    told = [line for note in notes for line in page.hanging("  ", note, 2, 3)]
    return [["GUARD CHECKING as a share of a call", *table(page, heads, rows), *told]]


def _basis(cost: GuardCost) -> str:
    """Of the first row: the others have theirs in the JSON."""
    if cost.call_basis is not None:
        return f"{cost.function}: one call is {cost.call_basis}."
    why = next(
        (fact.reason for fact in cost.missing if fact.fact == "call_us"), "the time of a call is unknown"
    )
    return f"{cost.function}: {why}."


def number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def microseconds(value: float | None) -> str:
    return "?" if value is None else units.microseconds(value)


def at(line: SourceLine | None) -> str:
    return "" if line is None else f"{line.file.rpartition('/')[2]}:{line.line}"
