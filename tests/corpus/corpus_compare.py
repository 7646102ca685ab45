"""A Report against the corpus' expected.json: every disagreement as one line of text."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from compilescope.analysis.report import GraphBreak, Recompile, Report

Case = Mapping[str, Any]


def load_expected(path: Path) -> dict[str, Case]:
    cases: dict[str, Case] = json.loads(path.read_text(encoding="utf-8"))["cases"]
    return cases


def compare(report: Report, case: Case, *, fixed: bool = False, exit_status: bool = True) -> list[str]:
    """Empty when the report says what the corpus says. ``exit_status`` is off for attached recordings."""
    if fixed:
        return list(_counts(report, case["counts_fixed"], exit_status))
    return [
        *_counts(report, case["counts"], exit_status),
        *_breaks(report, case),
        *_recompiles(report, case),
        *_limit(report, case),
        *_failure(report, case),
        *_ranks(report, case),
        *_caches(report, case),
        *_no_nulls(report),
    ]


def _counts(report: Report, counts: Mapping[str, Any], exit_status: bool) -> Iterator[str]:
    if not any(counts.values()) and len(report.processes) > 1:
        return  # the recorder of the corpus saw no child processes
    totals = report.totals
    pairs = {
        "break_sites": totals.graph_break_sites,
        "break_events": totals.graph_break_events,
        "recompiles": totals.recompiles,
        "recompiles_blocked_by_limit": totals.blocked_by_limit,
        "graphs": totals.graphs,
        "frames_compiled": totals.compiled,
        "limit_hit": bool(totals.limit_hits),
    }
    if exit_status:
        pairs["exit_code"] = report.recording.exit_status
    for name, got in pairs.items():
        if got != counts[name]:
            yield f"{name}: expected {counts[name]}, got {got}"


def _breaks(report: Report, case: Case) -> Iterator[str]:
    found = {(_tail(b.file), b.line): b for b in report.graph_breaks}
    wanted = {(_tail(w["file"]), w["line"]): w for w in case["graph_breaks"]}
    for place in found.keys() - wanted.keys():
        yield f"false break site {place}"
    for place, want in wanted.items():
        got = found.get(place)
        if got is None:
            yield f"break site {place} is not there"
        else:
            yield from _break(place, got, want)


def _break(place: tuple[str, int], got: GraphBreak, want: Mapping[str, Any]) -> Iterator[str]:
    for name in ("events", "runtime_hits", "code"):
        if want[name] is not None and getattr(got, name) != want[name]:
            yield f"{place} {name}: expected {want[name]!r}, got {getattr(got, name)!r}"
    for name in ("gb_ids", "gb_types", "resume"):
        if sorted(getattr(got, name)) != sorted(want[name]):
            yield f"{place} {name}: expected {want[name]}, got {getattr(got, name)}"


def _recompiles(report: Report, case: Case) -> Iterator[str]:
    for want in case["recompiles"]:
        rows = [row for row in report.recompiles if _is_about(row, want, case)]
        if not rows:
            have = [
                (r.function, r.file, r.line, r.kind, r.holder, r.source, r.changes) for r in report.recompiles
            ]
            yield f"no recompile for {want.get('frame')} {want['source']} {want['kind_slug']}; have {have}"
        elif not any(_has_changes(row, want) for row in rows):
            yield f"{want['source']}: expected {_wanted_changes(want)}, got {[r.changes for r in rows]}"
    for row in report.recompiles:
        if bool(case.get("benign")) != row.benign:
            yield f"{row.source}: benign is {row.benign}"


def _is_about(row: Recompile, want: Mapping[str, Any], case: Case) -> bool:
    names = [want["frame"].split()[-1], original(want["frame"])]
    line = want.get("user_call_line")
    if line is None and want["frame"].startswith("torch/"):
        line = _called_from(want, case)
    torch_frame = want["frame"].startswith("torch/") or want["frame"] == "inner"
    return (
        row.kind in want["kind_slug"]
        and (torch_frame or row.function in names)
        and row.line == (line or want["line"])
        and ("holder" not in want or row.holder == want["holder"])
        and _same_source(row.source, want["source"])
    )


def _called_from(want: Mapping[str, Any], case: Case) -> int | None:
    place = case["compiled_from"].get(want.get("id", ""), "")
    match = re.search(r":(\d+):", place)
    return int(match[1]) if match else None


def _same_source(got: str, want: str) -> bool:
    """Loose on wording, strict on names: the last name of ours must be said there."""
    words = re.findall(r"[A-Za-z_]\w*|\d+", re.sub(r"\(.*\)", "", got))
    loose = {"grad", "mode", "enabled", "fn"} | (set() if " dim " in want else {"dim", *"0123456789"})
    return all(word in want or word in loose for word in words)


def _wanted_changes(want: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    if "changes" in want:
        return [(old, new) for old, new in want["changes"]]
    return [(want["old"], want["new"])] if "old" in want else []


def _has_changes(row: Recompile, want: Mapping[str, Any]) -> bool:
    return all(any(_same_change(got, change) for got in row.changes) for change in _wanted_changes(want))


def _same_change(got: tuple[Any, Any], want: tuple[Any, Any]) -> bool:
    return all(_same_value(g, w) for g, w in zip(got, want, strict=True))


def _same_value(got: Any, want: Any) -> bool:
    if isinstance(want, str) and not isinstance(got, str):
        return isinstance(got, float) and "float" in want
    if isinstance(want, str) and "|" in want:
        return got in want.split("|")
    if isinstance(want, float) and not isinstance(got, bool) and isinstance(got, int | float):
        return abs(got - want) <= 1e-6 * max(1.0, abs(want))
    return type(got) is type(want) and got == want


def _limit(report: Report, case: Case) -> Iterator[str]:
    want, blocked = case.get("limit"), case.get("blocked")
    if want is None:
        if report.limit_hits:
            yield f"false limit hit {report.limit_hits[0]}"
        return
    if len(report.limit_hits) != 1:
        yield f"expected one limit hit, got {len(report.limit_hits)}"
        return
    got = report.limit_hits[0]
    for name, key in (
        ("function", "frame"),
        ("line", "line"),
        ("eager_calls", "eager_calls"),
        ("total_calls", "total_calls"),
    ):
        if getattr(got, name) != want[key]:
            yield f"limit {name}: expected {want[key]}, got {getattr(got, name)}"
    cause = got.last_cause
    if (
        blocked
        and cause
        and (cause.source, cause.old, cause.new) != (blocked["source"], blocked["old"], blocked["new"])
    ):
        yield f"limit cause: expected {blocked}, got {cause}"
    if blocked and not any((blocked["old"], blocked["new"]) in r.blocked_changes for r in report.recompiles):
        yield f"no recompile row shows the refused change {blocked}"


def _failure(report: Report, case: Case) -> Iterator[str]:
    want = case.get("compile_error")
    if want is None:
        if report.failures:
            yield f"false failure {report.failures[0]}"
        return
    if len(report.failures) != 1:
        yield f"expected one failure, got {len(report.failures)}"
        return
    got = report.failures[0]
    for name in ("exception", "line"):
        if getattr(got, name) != want[name]:
            yield f"failure {name}: expected {want[name]}, got {getattr(got, name)}"
    if _tail(got.file or "") != _tail(want["file"]):
        yield f"failure file: expected {want['file']}, got {got.file}"
    if want.get("op", "") not in got.message:
        yield f"failure message does not name {want['op']}: {got.message}"


def _ranks(report: Report, case: Case) -> Iterator[str]:
    for rank, want in case.get("ranks", {}).items():
        ids = {p.id for p in report.processes if p.rank == int(rank)}
        rows = [r for r in report.recompiles if r.process in ids]
        made = [change for row in rows for change in row.changes]
        wanted = [(e["old"], e["new"]) for e in want.get("events", [])]
        if not ids or made != wanted:
            yield f"rank {rank}: expected {wanted}, got {made}"


def _caches(report: Report, case: Case) -> Iterator[str]:
    if "cache" in case:
        want = {k: sum(p[k] for p in case["cache"].values()) for k in ("hit", "miss")}
        got = {k: report.caches.fx_graph.get(k, 0) for k in ("hit", "miss")}
        if got != want:
            yield f"fx graph cache: expected {want}, got {got}"


def _no_nulls(report: Report) -> Iterator[str]:
    for graph in report.graphs:
        if graph.calls is None or graph.sizes_seen is None:
            yield f"graph {graph.compile_id} has no calls or sizes"
    for row in report.graph_breaks:
        if row.runtime_hits is None and row.resume != ["frame_skipped"] and not row.library:
            yield f"{row.file}:{row.line} has no run-time hits"


def original(frame: str) -> str:
    match = re.fullmatch(r"torch_dynamo_resume_in_(.+)_at_\d+", frame)
    return match[1] if match else frame


def _tail(path: str) -> str:
    return "/".join(posixpath.normpath(path).split("/")[-2:]) if "/" in path else path
