"""Numbers of the whole run, side by side: counts exactly, times by factor and floor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from compilescope.analysis.report import Report
from compilescope.compare.diff import CountRow, TimeRow
from compilescope.units import seconds

# Name, whether more is worse, whether it grows with the number of steps.
_TOTALS = (
    ("frames", False, False),
    ("compiles", False, False),
    ("graphs", False, False),
    ("graph_break_sites", True, False),
    ("graph_break_events", True, False),
    ("recompiles", True, False),
    ("blocked_by_limit", True, False),
    ("limit_hits", True, False),
    ("failures", True, False),
    ("skipped_frames", True, False),
    ("compiled_calls", False, True),
    ("eager_calls", True, True),
)


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """A time differs when it changed by more than the factor and by more than the floor.

    The gate's own limits: on a shared machine an unchanged program was seen to take twice as long.
    """

    factor: float = 2.0
    floor_s: float = 10.0

    def differs(self, base_s: float | None, head_s: float | None) -> bool:
        if base_s is None or head_s is None:
            return False
        less, more = sorted((base_s, head_s))
        return more - less > self.floor_s and more > less * self.factor


def count_rows(base: Report, head: Report) -> list[CountRow]:
    """The totals always; kernels, CUDA graphs, buckets and processes where one of the runs has them."""
    rows = [
        CountRow(name, getattr(base.totals, name), getattr(head.totals, name), bad, per_step)
        for name, bad, per_step in _TOTALS
    ]
    rows += _exit_status(base.recording.exit_status, head.recording.exit_status)
    rows.append(CountRow("processes", len(base.processes), len(head.processes), False, False))
    for facts, bad, per_step in (
        (_kernels, False, False),
        (_cudagraphs, True, False),
        (_bucket_rungs, False, False),
        (_bucket_calls, True, True),
    ):
        old, new = facts(base), facts(head)
        names = [name for name in dict.fromkeys((*old, *new)) if old.get(name) or new.get(name)]
        rows += [CountRow(n, old.get(n, 0), new.get(n, 0), bad, per_step) for n in sorted(names)]
    return rows


def _exit_status(base: int | None, head: int | None) -> list[CountRow]:
    """Worse or better only where one of the runs succeeded: no failure is worse than another."""
    if base is None or head is None:
        return []
    return [CountRow("exit_status", base, head, 0 in (base, head), False)]


def _kernels(report: Report) -> Mapping[str, int | None]:
    """Launches by family in one call of every graph."""
    found: Counter[str] = Counter()
    for graph in report.graphs:
        found.update({f"{family}_launches": n for family, n in (graph.kernels or {}).items()})
    return found


def _cudagraphs(report: Report) -> Mapping[str, int | None]:
    found: Counter[str] = Counter()
    for row in report.cudagraphs:
        found["cudagraph_recordings"] += row.recordings
        found["cudagraph_skips"] += sum(skip.count for skip in row.skips)
    return found


def _bucket_rungs(report: Report) -> Mapping[str, int | None]:
    rungs = [b for b in report.buckets if b.kind not in ("eager", "dynamic") and b.live]
    return {
        "bucket_rungs": len(rungs),
        "bucket_rungs_refused": sum(bool(b.refused) and not b.elsewhere for b in rungs),
        "bucket_rungs_failed": sum(bool(b.failed) for b in rungs),
    }


def _bucket_calls(report: Report) -> Mapping[str, int | None]:
    padded = [b.padded_rows for b in report.buckets if b.padded_rows is not None]
    outside = [b.hits for b in report.buckets if b.kind in ("eager", "dynamic") and b.hits is not None]
    return {"padded_rows": sum(padded), "calls_outside_buckets": sum(outside)}


def time_rows(base: Report, head: Report, limits: TimeLimits, *, comparable: bool) -> list[TimeRow]:
    """``comparable`` False: shown, and never a difference. Parts, and the run itself, are only shown: they
    vary more than their sum, and how long a program runs is its own business.
    """
    pairs = [
        ("compile_wall_s", base.totals.compile_wall_s, head.totals.compile_wall_s),
        ("compile_forward_s", _sum(base.phases.forward), _sum(head.phases.forward)),
        ("compile_backward_s", _sum(base.phases.backward), _sum(head.phases.backward)),
        ("run_wall_s", base.recording.wall_s, head.recording.wall_s),
    ]
    return [
        TimeRow(n, old, new, comparable and n == "compile_wall_s" and limits.differs(old, new))
        for n, old, new in pairs
        if old is not None or new is not None
    ]


def slower_machine(base: Report, head: Report, limits: TimeLimits) -> list[str]:
    """Of two runs that compiled the same: seconds apart are then no fact about the program."""
    old_s, new_s = base.totals.compile_wall_s, head.totals.compile_wall_s
    if not limits.differs(old_s, new_s):
        return []
    return [
        f"compiling took {seconds(old_s)} in BASE and {seconds(new_s)} in HEAD, and both compiled the same: "
        "the machine or its load, or a setting that changes no code"
    ]


def _sum(phases: Mapping[str, float]) -> float | None:
    return round(sum(phases.values()), 6) if phases else None
