"""Two runs in, one :class:`Diff` out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compilescope.analysis.report import Report
from compilescope.compare.buckets import bucket_changes
from compilescope.compare.cache_keys import cache_key_rows
from compilescope.compare.counts import TimeLimits, count_rows, slower_machine, time_rows
from compilescope.compare.diff import (
    FORMAT_VERSION,
    BucketChange,
    Changed,
    ChoiceChange,
    CountRow,
    Diff,
    FunctionChange,
    KernelChange,
    KeyRow,
    NotCompared,
    SizesChange,
)
from compilescope.compare.environment import conditions, environment, equally_cached, side
from compilescope.compare.files import paired_files
from compilescope.compare.findings import findings_diff, without_chance
from compilescope.compare.graphs import Unit, function_changes, paired, units
from compilescope.compare.kernels import choice_changes, kernel_changes
from compilescope.compare.places import Places, shared_ranks
from compilescope.compare.run import Recorded
from compilescope.compare.sizes import sizes_changes
from compilescope.compare.verdict import direction, others, verdict
from compilescope.units import count

_OF_A_GRAPH = ("ops", "calls", "sizes_seen", "kernels", "autotune")
_Files = tuple[Mapping[str, str], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class _Rows:
    """What differs in what was compiled, and how it was used."""

    environment: list[Changed]
    counts: list[CountRow]
    functions: list[FunctionChange]
    kernels: list[KernelChange]
    choices: list[ChoiceChange]
    sizes: list[SizesChange]
    buckets: list[BucketChange]
    keys: list[KeyRow]
    conditions: list[str]
    unread: int

    @property
    def also(self) -> list[str]:
        return others(self.functions, self.kernels, self.choices, self.sizes, self.buckets, self.keys)

    @property
    def same_work(self) -> bool:
        """Both compiled the same, so that seconds apart are no fact about the program."""
        cut = others(self.functions, self.kernels, self.choices, (), self.buckets, self.keys)
        return not cut and not any(row.differs and not row.per_step for row in self.counts)


def compare(base: Recorded, head: Recorded, limits: TimeLimits | None = None) -> Diff:
    """Pure: the same two runs give the same object. Nothing depends on process, compile or line numbers.

    Times are compared only where both runs had the same environment and as many cache hits, and compiled
    something else: the same work takes another time when the machine has other work.
    """
    scripts = base.report.recording.name, head.report.recording.name
    files = paired_files(_files(base), _files(head), scripts)
    return _judged(base, head, files, _rows(base, head, files), limits or TimeLimits())


def _rows(base: Recorded, head: Recorded, files: _Files) -> _Rows:
    at = Places(base, files[0]), Places(head, files[1])
    ranks = shared_ranks(*at)
    mine, theirs = units(base, at[0], ranks), units(head, at[1], ranks)
    graphs = paired(mine, theirs)
    keys, unread = cache_key_rows(base, head, graphs, at)
    return _Rows(
        environment=environment(base.report, head.report),
        counts=count_rows(base.report, head.report),
        functions=function_changes((mine, at[0]), (theirs, at[1])),
        kernels=kernel_changes(graphs.pairs, *at),
        choices=choice_changes(graphs.pairs, *at),
        sizes=sizes_changes(base, head, at, ranks),
        buckets=bucket_changes(base, head, at, ranks),
        keys=keys,
        conditions=[*conditions(base.report, head.report), *_strangers(mine, theirs), *_ranks(at, ranks)],
        unread=unread,
    )


def _judged(base: Recorded, head: Recorded, files: _Files, rows: _Rows, limits: TimeLimits) -> Diff:
    comparable = not rows.environment and equally_cached(base.report, head.report)
    times = time_rows(base.report, head.report, limits, comparable=comparable and not rows.same_work)
    findings, notes = findings_diff(base.findings, head.findings, files), list(rows.conditions)
    if rows.same_work:
        notes += slower_machine(base.report, head.report, limits) if comparable else []
        findings, chance = without_chance(findings)
        notes += chance
    told = (rows.environment, rows.also, findings.new, findings.gone, findings.changed)
    numbers = (*(row.differs for row in rows.counts), *(row.differs for row in times))
    differs = any(told) or any(numbers)
    word = direction(
        findings,
        rows.counts,
        times,
        differs=differs,
        base_ended=base.report.recording.complete,
        head_ended=head.report.recording.complete,
    )
    return Diff(
        format_version=FORMAT_VERSION,
        base=side(base.report),
        head=side(head.report),
        differs=differs,
        direction=word,
        verdict=verdict(word, rows.environment, findings, rows.counts, times, rows.also),
        environment=rows.environment,
        conditions=notes,
        findings=findings,
        counts=rows.counts,
        times=times,
        functions=rows.functions,
        kernels=rows.kernels,
        choices=rows.choices,
        sizes=rows.sizes,
        buckets=rows.buckets,
        cache_keys=rows.keys,
        not_compared=[*_missing(base.report, head.report), *_unread(rows.unread)],
    )


def _strangers(mine: Sequence[Unit], theirs: Sequence[Unit]) -> Iterator[str]:
    known = {unit.key for unit in mine}, {unit.key for unit in theirs}
    if all(known) and known[0].isdisjoint(known[1]):
        yield "no compiled function is in both: these may be runs of different programs"


def _ranks(at: tuple[Places, Places], shared: set[int]) -> Iterator[str]:
    for name, places in zip(("BASE", "HEAD"), at, strict=True):
        only = sorted(places.ranks - shared - {-1})
        if only:
            yield f"only {name} has {count(len(only), 'rank')} more ({only[0]} to {only[-1]}): not compared"


def _files(run: Recorded) -> set[str]:
    report = run.report
    located = {row.file for rows in (report.frames, report.graphs, report.sizes) for row in rows}
    return located | {f.file for f in run.findings if f.file is not None} | set(run.sources)


def _missing(base: Report, head: Report) -> Iterator[NotCompared]:
    """What a run does not know cannot be compared: said once for each fact and reason."""
    old, new = _absent(base), _absent(head)
    for fact, reason in dict.fromkeys((*old, *new)):
        both = (fact, reason) in old and (fact, reason) in new
        yield NotCompared("both" if both else "base" if (fact, reason) in old else "head", fact, reason)


def _absent(report: Report) -> dict[tuple[str, str], None]:
    """Of a graph only what is compared of it."""
    whole = (report.missing, *(process.missing for process in report.processes))
    facts = [m for missing in whole for m in missing]
    facts += [m for graph in report.graphs for m in graph.missing if m.fact in _OF_A_GRAPH]
    return dict.fromkeys((m.fact, m.reason) for m in facts)


def _unread(unread: int) -> Iterator[NotCompared]:
    if unread:
        yield NotCompared("both", "cache keys", f"{unread} look-ups beyond those read of one run")
