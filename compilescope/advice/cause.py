"""Rows of a report that have one root, and the finding they become: costs, saving, severity, evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from compilescope.advice.facts import Facts, Named
from compilescope.advice.finding import SEVERITIES, Amount, Confidence, Evidence, Finding, Saving, Severity
from compilescope.advice.library import is_installed
from compilescope.analysis.report import Failure, GraphBreak, LimitHit, Recompile
from compilescope.analysis.worst import detail

# A cause that costs this much is never a detail, whatever its kind.
_MEDIUM_S, _MEDIUM_SHARE = 30.0, 0.05
_HIGH_S, _HIGH_SHARE = 120.0, 0.2
_MAX_IDS, _MAX_LINES = 64, 12
OF_TENSORS = frozenset(
    ("size", "size_one", "stride", "rank", "dtype", "device", "requires_grad", "dispatch_keys")
)
CALL = re.compile(r"(?P<file>.+):(?P<line>\d+) (?P<function>\S+)")


@dataclass(frozen=True, slots=True)
class Cause:
    breaks: tuple[Named[GraphBreak], ...] = ()
    recompiles: tuple[Named[Recompile], ...] = ()
    limits: tuple[Named[LimitHit], ...] = ()
    failures: tuple[Named[Failure], ...] = ()

    @property
    def refs(self) -> tuple[str, ...]:
        return (
            *(n.ref for n in self.breaks),
            *(n.ref for n in self.recompiles),
            *(n.ref for n in self.limits),
            *(n.ref for n in self.failures),
        )

    @property
    def executed(self) -> int | None:
        """How often the broken lines ran; None when no site's count is known."""
        known = [n.row.runtime_hits for n in self.breaks if n.row.runtime_hits is not None]
        return sum(known) if known else None

    @property
    def eager_calls(self) -> int | None:
        """None when no limit's count is known."""
        known = [n.row.eager_calls for n in self.limits if n.row.eager_calls is not None]
        return sum(known) if known else None

    @property
    def made(self) -> int:
        """Recompiles, each counted once however many of its guards are of this cause."""
        ids = {(n.row.process, i) for n in self.recompiles for i in n.row.compile_ids}
        blocked: dict[str, int] = {}
        for n in self.recompiles:
            blocked[n.row.process] = max(blocked.get(n.row.process, 0), n.row.blocked_by_limit)
        return max(len(ids) - sum(blocked.values()), max((n.row.count for n in self.recompiles), default=0))

    @property
    def wasted_s(self) -> float | None:
        """Seconds of those recompiles; rows that share a compile share its seconds."""
        total, seen, known = 0.0, set[tuple[str, str]](), False
        for n in sorted(self.recompiles, key=lambda n: (-len(n.row.compile_ids), n.ref)):
            ids = {(n.row.process, i) for i in n.row.compile_ids}
            if n.row.wasted_compile_s is not None and ids:
                total += n.row.wasted_compile_s * len(ids - seen) / len(ids)
                known = True
            seen |= ids
        return round(total, 6) if known else None

    def of_slowest(self) -> Cause:
        """The part of the process that lost most: ranks run side by side, so their seconds do not add up."""
        ids = sorted({n.row.process for n in self.recompiles})
        parts = [
            replace(self, recompiles=tuple(n for n in self.recompiles if n.row.process == i)) for i in ids
        ]
        return max(parts, key=lambda part: (part.wasted_s or 0.0, part.made), default=self)

    @property
    def processes(self) -> set[str]:
        return {
            *(n.row.process for n in self.breaks),
            *(n.row.process for n in self.recompiles),
            *(n.row.process for n in self.limits),
            *(n.row.process for n in self.failures),
        }


@dataclass(frozen=True, slots=True)
class Place:
    file: str | None
    line: int | None
    function: str | None
    code: str | None = None
    called_from: str | None = None


@dataclass(frozen=True, slots=True)
class Telling:
    """What a rule says in words."""

    rule: str
    fix_kind: str
    summary: str
    fix: str
    subject: str  # what the identity names: the variable, the call, the op
    diff: str | None = None
    confidence: Confidence = "high"
    could_be_wrong: str | None = None
    notes: tuple[str, ...] = ()
    command: str | None = None


def finding(facts: Facts, cause: Cause, place: Place, telling: Telling, severity: Severity) -> Finding:
    """``severity`` before what the cost and the recompile limit add to it."""
    return Finding(
        rule=telling.rule,
        severity=_raised(facts, cause, severity),
        file=place.file,
        line=place.line,
        function=place.function,
        summary=telling.summary,
        fix=telling.fix,
        fix_kind=telling.fix_kind,
        command=telling.command,
        identity=identity(facts, telling.rule, place, telling.subject),
        cost=_cost(cause),
        saving=_saving(facts, cause),
        executions=(cause.executed or 0) + (cause.eager_calls or 0),
        evidence=_evidence(cause, telling.notes),
        diff=telling.diff,
        confidence=telling.confidence,
        could_be_wrong=telling.could_be_wrong,
        code=place.code,
        called_from=place.called_from,
        refs=cause.refs,
    )


def identity(facts: Facts, rule: str, place: Place, subject: str) -> str:
    """Rule, file, function and cause: no line, value, process or compile id, so that it outlives an edit."""
    file, function = facts.function_key(place.file, place.line, place.function)
    return "|".join((rule, file.rsplit("site-packages/", 1)[-1], function, subject))


def place_of_recompile(facts: Facts, row: Recompile) -> Place:
    """A tensor that changed comes from the program: a model of an installed package stands at its call."""
    caller = CALL.fullmatch(row.called_from or "")
    if row.kind in OF_TENSORS and is_installed(row.file) and caller and not is_installed(caller["file"]):
        file, line = caller["file"], int(caller["line"])
        return Place(file, line, row.function, facts.sources.line(file, line), row.called_from)
    return Place(row.file, row.line, row.function, row.code, row.called_from)


def place_of_break(row: GraphBreak) -> Place:
    caller = row.call_path[-2] if len(row.call_path) > 1 else None
    return Place(row.file, row.line, row.function, row.code, caller)


def worse(one: Severity, other: Severity) -> Severity:
    return min(one, other, key=SEVERITIES.index)


def with_cost(found: Finding, extra: Mapping[str, Amount]) -> Finding:
    return replace(found, cost={**found.cost, **extra})


def _raised(facts: Facts, cause: Cause, severity: Severity) -> Severity:
    if any(n.row.eager_calls is None or n.row.eager_calls > 0 for n in cause.limits) or any(
        not n.row.suppressed for n in cause.failures
    ):
        return "critical"
    if all(n.row.benign for n in cause.recompiles):
        return severity
    return raised_by(facts, cause.of_slowest().wasted_s or 0.0, severity)


def raised_by(facts: Facts, spent: float, severity: Severity) -> Severity:
    """Seconds of compiling for nothing, against the wall time of the run."""
    wall = facts.report.recording.wall_s
    share = spent / wall if wall else 0.0
    if spent >= _HIGH_S and share >= _HIGH_SHARE:
        return worse(severity, "high")
    return worse(severity, "medium") if spent >= _MEDIUM_S and share >= _MEDIUM_SHARE else severity


def _cost(cause: Cause) -> dict[str, Amount]:
    cost = {}
    if cause.recompiles:
        cost["recompiles"] = Amount(cause.made, "counted", "compiles of code that had an entry already")
        if cause.wasted_s is not None:
            cost["compile_s"] = Amount(cause.wasted_s, "measured", "wall clock of those recompiles")
    if cause.eager_calls is not None:
        cost["eager_calls"] = Amount(cause.eager_calls, "counted", "calls after the recompile limit")
    if cause.breaks:
        events = sum(n.row.events for n in cause.breaks)
        cost["break_events"] = Amount(events, "counted", "torch's graph break records")
        if cause.executed is not None:
            least = sorted(cause.breaks, key=lambda n: not n.row.ran_at_least)
            basis = next(b for n in least if (b := n.row.runtime_hits_basis or "run-time counters"))
            cost["breaks_executed"] = Amount(cause.executed, "counted", basis)
    if cause.failures:
        cost["failures"] = Amount(len(cause.failures), "counted", "compiles that ended in an error")
    return cost


def _saving(facts: Facts, cause: Cause) -> Saving | None:
    several = len({n.row.process for n in cause.recompiles}) > 1
    part = cause.of_slowest() if several and facts.is_distributed else cause
    spent = part.wasted_s
    if spent is None:
        return None
    what = (
        "the recompiles of the slowest process, measured; "
        if part is not cause
        else "the recompiles, measured; "
    )
    if cause.failures:
        return Saving(spent, None, f"{what}the calls that raised did no work at all")
    if cause.limits:
        return Saving(spent, None, f"{what}what the eager calls cost is unknown")
    settled = facts.report.verdict.settled
    later = 0.0 if settled else None
    basis = what + (
        "compiling has settled, so it is paid once per process" if settled else "how many follow is unknown"
    )
    return Saving(spent, later, basis)


def _evidence(cause: Cause, notes: Sequence[str]) -> Evidence:
    ids = dict.fromkeys(
        (
            *(i for n in cause.breaks for i in n.row.compile_ids),
            *(i for n in cause.recompiles for i in n.row.compile_ids),
            *(n.row.compile_id for n in cause.failures if n.row.compile_id),
        )
    )
    sites = [f"{n.row.file}:{n.row.line} {(n.row.code or '').strip()}".rstrip() for n in cause.breaks]
    changes = [detail(row) for row in _chained([n.row for n in cause.recompiles])]
    return Evidence(
        compile_ids=tuple(ids)[:_MAX_IDS],
        changes=_unique(changes),
        sites=_unique(sites),
        notes=(*notes, *_processes(cause)),
    )


def _chained(rows: Sequence[Recompile]) -> list[Recompile]:
    """A number that became a symbol has guards of two kinds: its values go on in the first row, one line."""
    kept: list[Recompile] = []
    for row in sorted(rows, key=lambda row: row.kind == "symbolic_guard"):
        at = next((n for n, one in enumerate(kept) if _goes_on(one, row)), None)
        if at is None:
            kept.append(row)
        else:
            kept[at] = replace(kept[at], changes=[*kept[at].changes, *row.changes])
    return kept


def _goes_on(one: Recompile, other: Recompile) -> bool:
    """Numbers of the same variable, where one row ends with the number that the other begins with."""
    same = (one.source, one.process, one.blocked_changes) == (other.source, other.process, [])
    numeric = all(isinstance(old, int | float) for row in (one, other) for old, _ in row.changes)
    return (
        bool(same and numeric and one.changes and other.changes) and one.changes[-1][1] == other.changes[0][0]
    )


def _processes(cause: Cause) -> tuple[str, ...]:
    number = len(cause.processes)
    return (f"the same in {number} processes",) if number > 1 else ()


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))[:_MAX_LINES]
