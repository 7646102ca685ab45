"""A run without what happened up to a step: what is left is what the steady program still does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from compilescope.errors import UsageError
from compilescope.model import CompileId, Process, Run
from compilescope.recording import Recording
from compilescope.trial.step_ends import StepNumbers, by_calls, by_clock, step_records, told_ends


@dataclass(frozen=True, slots=True)
class AfterStep:
    """``run`` holds only later compiles, breaks, refusals and eager calls. ``basis``: what a step is."""

    run: Run
    step: int
    basis: str
    count: int


def after_step(recording: Recording, run: Run, step: int) -> AfterStep:
    """``run`` is what ``recording`` was loaded to. Steps are told by ``compilescope.step()`` in any process,
    else counted by calls of the outermost compiled function of each.

    Raises UsageError when there are no steps to count, or no more than ``step`` of them.
    """
    numbers = _numbers(recording, run)
    longest = max(numbers.values(), key=lambda n: n.count, default=None)
    if longest is None:
        raise UsageError(
            "the steps of this recording are unknown",
            hint="call compilescope.step() once per iteration: nothing that was compiled is called "
            "repeatedly, there are more than 512 graphs, or the recording is an older one",
        )
    if longest.count <= step:
        raise UsageError(
            f"nothing came after step {step}: there were {longest.count} ({longest.basis})",
            hint="run more steps, or lower --after-step",
        )
    late = tuple(_late(p, numbers[p.id], step) if p.id in numbers else p for p in run.processes)
    return AfterStep(replace(run, processes=late), step, longest.basis, longest.count)


def _numbers(recording: Recording, run: Run) -> dict[str, StepNumbers]:
    """Steps that the program names win over counted ones, and their clock is every process's."""
    sources = {source.id: source for source in recording.processes}
    records = {p.id: step_records(sources[p.id]) for p in run.processes if p.id in sources}
    ends = {key: told_ends(told) for key, (told, _) in records.items()}
    longest = max(ends.values(), key=len, default=[])
    found: dict[str, StepNumbers | None] = {}
    for process in run.processes:
        _, others = records.get(process.id, ([], []))
        if longest:
            own = ends.get(process.id) or longest
            found[process.id] = by_clock(process, others, own, "compilescope.step()")
        else:
            found[process.id] = by_calls(process, others)
    return {key: numbers for key, numbers in found.items() if numbers is not None}


def _late(process: Process, numbers: StepNumbers, step: int) -> Process:
    late = {i for i in process.compiles if numbers.of.get(i, 0) > step}
    starts = [c.start_ns for i, c in process.compiles.items() if i in late and c.start_ns is not None]
    first_ns = min(starts, default=None)
    return replace(
        process,
        compiles={i: c for i, c in process.compiles.items() if i in late},
        breaks=tuple(b for b in process.breaks if b.compile in late),
        guard_failures=tuple(g for g in process.guard_failures if g.compile in late),
        conversions=tuple(c for c in process.conversions if c.compile in late),
        graphs=tuple(g for g in process.graphs if g.compile in late),
        backward_spans=tuple(s for s in process.backward_spans if first_ns is not None and s[0] >= first_ns),
        bucket_events=tuple(
            e for e in process.bucket_events if first_ns is not None and (e.time_ns or 0) >= first_ns
        ),
        eager_calls=_eager_since(process, numbers, late),
    )


def _eager_since(process: Process, numbers: StepNumbers, late: set[CompileId]) -> Mapping[int, int]:
    """Calls past a limit, less those counted before. Between two compiles they are not told apart: all of
    them count as later ones.
    """
    before: dict[int, int] = {}
    for compile_id, counts in numbers.eager.items():
        if compile_id not in late:
            before.update(counts)
    return {serial: n - before.get(serial, 0) for serial, n in process.eager_calls.items()}
