"""Recording -> Report: asks every question of every process and puts the answers in one object."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from compilescope.analysis import lengths, missing
from compilescope.analysis.attempts import Attempts
from compilescope.analysis.breaks import graph_breaks
from compilescope.analysis.buckets import buckets
from compilescope.analysis.cache_misses import cache_misses
from compilescope.analysis.caches import cache_totals
from compilescope.analysis.causes_of_frames import BreakOrigins
from compilescope.analysis.compile_time import last_compile_end_ns
from compilescope.analysis.compiled import Budget
from compilescope.analysis.compiled_twice import compiled_twice
from compilescope.analysis.cudagraphs import compiled_autograd, cudagraphs
from compilescope.analysis.device_twins import device_twins
from compilescope.analysis.diagnoses import diagnoses
from compilescope.analysis.failures import failures
from compilescope.analysis.frames import frames
from compilescope.analysis.graphs import graphs
from compilescope.analysis.guard_costs import guard_costs
from compilescope.analysis.index import Index
from compilescope.analysis.ladders import ladders
from compilescope.analysis.left_out import left_out, missed, unplanned
from compilescope.analysis.lengths import few
from compilescope.analysis.limits import limit_hits
from compilescope.analysis.paths import Paths, called
from compilescope.analysis.phases import phases
from compilescope.analysis.ranks import (
    merged_breaks,
    merged_failures,
    merged_limits,
    merged_recompiles,
)
from compilescope.analysis.recompiles import recompiles
from compilescope.analysis.recording_info import process_info, recording_info
from compilescope.analysis.report import FORMAT_VERSION, Missing, Report
from compilescope.analysis.rung_code import with_code
from compilescope.analysis.sizes import sizes
from compilescope.analysis.skips import skips
from compilescope.analysis.totals import totals
from compilescope.analysis.tuned_sites import tuned_sites
from compilescope.analysis.verdict import verdict
from compilescope.analysis.worst import worst
from compilescope.model import Process, Run, load

if TYPE_CHECKING:
    from compilescope.recording import Recording


def build_report(recording: Recording, *, detail: bool = True) -> Report:
    """Everything the recording tells. Damage is listed in it; raises only what reading raises.

    Without ``detail`` nothing below Dynamo is read: enough for a first page, in a third of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()  # hundreds of thousands of small values: the collector would walk them again and again
    try:
        return report_of(load(recording, detail=detail))
    finally:
        if was_enabled:
            gc.enable()


def report_of(run: Run) -> Report:
    indexes = _indexes(run)
    rows: dict[str, list[Any]] = {
        name: [] for name in ("breaks", "recompiles", "limits", "failures", "skips")
    }
    absent: list[Missing] = []
    for index in indexes:
        absent += _ask(index, rows)
    info = recording_info(run)
    rungs = [bucket for index in indexes for bucket in buckets(index)]
    absent += [*missing.of_run(indexes, info, launched=bool(run.launch)), *missing.of_buckets(rungs)]
    breaks, again = ([row for row in rows[name] if not row.warm_up] for name in ("breaks", "recompiles"))
    sums = totals(indexes, breaks, rows["limits"], rows["failures"], rows["skips"])
    why = diagnoses(indexes, rows["skips"])
    budget = Budget()
    graph_rows = [graph for index in indexes for graph in graphs(index, budget)]
    misses, sites = cache_misses(indexes), tuned_sites(graph_rows, rungs)
    more: dict[str, int] = {}
    absent += missing.of_lines([*rows["breaks"], *rows["recompiles"], *rows["failures"]])
    absent += left_out(indexes, graph_rows, misses, rows["recompiles"], sites)
    report = Report(
        format_version=FORMAT_VERSION,
        recording=info,
        processes=[process_info(process) for process in run.processes],
        totals=sums,
        verdict=verdict(
            info,
            sums,
            limits=merged_limits(rows["limits"]),
            breaks=merged_breaks(breaks),
            recompiles=merged_recompiles(again),
            failures=merged_failures(rows["failures"]),
            skips=rows["skips"],
            diagnoses=why,
            last_compile_s=_last_compile_s(run),
            unfinished=_unfinished(indexes),
        ),
        worst=worst(rows["limits"], breaks, rows["failures"], again),
        graph_breaks=rows["breaks"],
        recompiles=rows["recompiles"],
        limit_hits=rows["limits"],
        failures=rows["failures"],
        skips=rows["skips"],
        frames=[frame for index in indexes for frame in frames(index)],
        graphs=graph_rows,
        caches=cache_totals(run.processes, graph_rows),
        diagnoses=why,
        missing=absent,
        unknown_records=_unknown(run.processes),
        buckets=with_code(rungs, indexes, budget),
        phases=phases(indexes, _whole(run.launch.get("ended_ns"))),
        sizes=[row for index in indexes for row in sizes(index)],
        cudagraphs=[row for index in indexes if (row := cudagraphs(index)) is not None],
        compiled_autograd=[found for index in indexes if (found := compiled_autograd(index)) is not None],
        cache_misses=few(misses, lengths.LOOKUPS, "cache_misses", more, total=missed(indexes)),
        guard_costs=guard_costs(indexes),
        compiled_twice=compiled_twice(indexes),
        tuned_sites=few(sites, lengths.TUNED_SITES, "tuned_sites", more),
        device_twins=device_twins(graph_rows),
        more=more,
    )
    # A first page has no plan: it would load numpy.
    detailed = any(process.detail for process in run.processes)
    if not detailed:
        return report
    report = replace(report, ladders=ladders(report, more=more))
    return replace(report, missing=[*report.missing, *unplanned(more)])


def _indexes(run: Run) -> list[Index]:
    """One per process, a forked child with its parent's."""
    made: dict[int | None, Index] = {}
    for process in sorted(run.processes, key=lambda p: p.start_ns or 0):
        parent = made.get(process.ppid) if process.ppid is not None else None
        made[process.pid] = Index(process, Paths(_cwd(run.launch, process)), parent)
    by_id = {index.process.id: index for index in made.values()}
    return [by_id.get(p.id) or Index(p, Paths(_cwd(run.launch, p))) for p in run.processes]


def _ask(index: Index, rows: dict[str, list[Any]]) -> list[Missing]:
    """Add one process's rows; returns what is missing from them."""
    attempts = Attempts(index)
    breaks, no_hits = graph_breaks(index)
    limits, no_counts = limit_hits(index, attempts)
    rows["breaks"] += breaks
    rows["limits"] += limits
    rows["recompiles"] += recompiles(index, attempts, BreakOrigins(index))
    rows["failures"] += failures(index)
    rows["skips"] += skips(index)
    return [*no_hits, *no_counts, *missing.of_recompiles(index, attempts)]


def _cwd(launch: Mapping[str, Any], process: Process) -> str | None:
    cwd = launch.get("cwd") or process.cwd
    return cwd if isinstance(cwd, str) else None


def _last_compile_s(run: Run) -> float | None:
    end, start = last_compile_end_ns(run.processes), run.launch.get("started_ns")
    if not isinstance(start, int):
        start = min((p.start_ns for p in run.processes if p.start_ns), default=None)
    return round((end - start) * 1e-9, 6) if end is not None and start is not None else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _unfinished(indexes: Sequence[Index]) -> str | None:
    for index in indexes:
        for frame in index.frames.values():
            cut = any(c.started and c.has_code is None for c in frame.compiles)
            if cut and not index.process.complete and index.process.kind == "recording":
                place = index.blamed(frame)
                return f"{called(place.function)} ({index.paths.at(place.file, place.line)})"
    return None


def _unknown(processes: Sequence[Process]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for process in processes:
        counts.update(process.unknown)
    return dict(counts)
