"""Which facts stand in which section, in order of importance, and how many rows each may take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from compilescope.views.finding_words import all_findings
from compilescope.views.html._groups import as_tree
from compilescope.views.html._shelf import Row, Rows, Shelf, allot

if TYPE_CHECKING:
    from compilescope.analysis.report import Graph, Missing, Report
    from compilescope.views.finding_words import FindingWords

MAX_FIRST = 50


def sections(report: Report, max_rows: int) -> dict[str, Rows[Any]]:
    """Rows by section name; at most ``max_rows`` over all of them."""
    contents = _contents(report)
    room = allot([_wanted(section, items) for section, _, items, _ in contents], max_rows)
    shelf = Shelf()
    return {
        section: shelf.rows(prefix, items, most, name)
        for (section, prefix, items, name), most in zip(contents, room, strict=True)
    }


def graph_ids(graphs: Rows[Graph]) -> dict[tuple[str, str], str]:
    """(process, compile id) -> id of the graph's row, for links; the last epoch wins, and forward."""
    found: dict[tuple[str, str], str] = {}
    for row in graphs.shown:
        graph = row.item
        if not graph.backward or (graph.process, graph.compile_id) not in found:
            found[graph.process, graph.compile_id] = row.id
    return found


def detailed(graphs: Sequence[Row[Graph]], most: int) -> set[str]:
    """Ids of the rows with most to tell: those whose kernels are known, then those that took longest."""
    ranked = sorted(graphs, key=lambda row: (not row.item.kernel_rows, -(row.item.compile_s or 0.0)))
    return {row.id for row in ranked[:most]}


def _wanted(section: str, items: list[Any]) -> int:
    """Beyond some dozens, nothing is "first" any more."""
    return min(len(items), MAX_FIRST) if section == "first" else len(items)


def _contents(report: Report) -> list[tuple[str, str, list[Any], Callable[[Any], str]]]:
    """(section, prefix of its ids, items, what identifies an item)."""
    missing: list[tuple[str | None, Missing]] = [(None, fact) for fact in report.missing]
    missing += [(process.id, fact) for process in report.processes for fact in process.missing]
    found = all_findings(report)
    first = [finding for finding in found if finding.severity != "note"]
    notes = [finding for finding in found if finding.severity == "note"]
    damage = [(process.id, place) for process in report.processes for place in process.damage]
    return [
        ("first", "finding", first, _finding_name),
        ("notes", "note", notes, _finding_name),
        ("damage", "damage", damage, lambda d: f"{d[0]} {d[1].where}"),
        ("missing", "missing", missing, lambda m: f"{m[0] or ''} {m[1].fact}"),
        ("limits", "limit", report.limit_hits, lambda h: f"{h.file} {h.line}"),
        ("breaks", "break", report.graph_breaks, lambda b: f"{b.file} {b.line}"),
        ("recompiles", "recompile", report.recompiles, lambda r: f"{r.file} {r.line} {r.source}"),
        ("failures", "failure", report.failures, lambda f: f"{f.file or ''} {f.line or ''} {f.exception}"),
        ("frames", "frame", as_tree(report.frames), lambda f: f"{f.file} {f.line} {f.resumed_at or ''}"),
        ("graphs", "compile", report.graphs, _graph_name),
        ("buckets", "bucket", report.buckets, lambda b: f"{b.graph} {b.entry} {b.rung or b.kind}"),
        ("tuned", "tuned", report.tuned_sites, lambda t: f"{t.file} {t.line} {t.op}"),
        ("guards", "guards", report.guard_costs, lambda g: f"{g.file} {g.line}"),
        ("sizes", "sizes", report.sizes, lambda s: f"{s.file} {s.line}"),
        ("phases", "phases", report.phases.frames, lambda p: f"{p.file} {p.line}"),
        ("cudagraphs", "cudagraphs", report.cudagraphs, lambda c: c.process),
        ("misses", "miss", report.cache_misses, lambda c: f"{c.cache} {c.compile_id}"),
        ("skips", "skip", report.skips, lambda s: f"{s.file} {s.line}"),
        ("processes", "process", report.processes, lambda p: p.id),
        ("unknown", "unknown", sorted(report.unknown_records.items()), lambda u: u[0]),
    ]


def ref_ids(rows: dict[str, Rows[Any]]) -> dict[str, tuple[str, str]]:
    """'limit_hits[2]' -> id of that row of the page where it is shown, and 'limit hits 3'."""
    sections = {"recompiles": "recompiles", "graph_breaks": "breaks", "failures": "failures"}
    return {
        f"{name}[{index}]": (row.id, f"{name.replace('_', ' ')} {index + 1}")
        for name, section in (sections | {"limit_hits": "limits"}).items()
        for index, row in enumerate(rows[section].shown)
    }


def _finding_name(finding: FindingWords) -> str:
    """'container_growth train.py 8': the rule and the place, as links people type."""
    return f"{finding.rule or finding.kind} {finding.file or finding.function} {finding.line or ''}"


def _graph_name(graph: Graph) -> str:
    """'3/1', as in links people type; a later epoch says so."""
    direction = " backward" if graph.backward else ""
    return (
        f"{graph.compile_id}{direction} epoch {graph.epoch}" if graph.epoch else graph.compile_id + direction
    )
