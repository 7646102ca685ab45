"""Does a run keep to its budgets and its baseline? Counts are compared exactly, times by factor and floor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from compilescope.advice.baseline import Baseline, Known, baseline_of, counts, environment
from compilescope.advice.budgets import Budgets
from compilescope.advice.finding import SEVERITIES, Finding
from compilescope.analysis.report import Report
from compilescope.units import count, seconds

Level = Literal["fail", "warn", "info"]

# Numbers that follow from how long the program ran: more of them alone is no regression.
_GROWS_WITH_STEPS = frozenset(("breaks_executed", "eager_calls"))
_MAY_BE_UNKNOWN = frozenset(("breaks_executed",))  # absent is not 0 there
_TOTALS = {
    "graph-breaks": "graph_break_sites",
    "recompiles": "recompiles",
    "limit-hits": "limit_hits",
    "failures": "failures",
    "eager-calls": "eager_calls",
    "compile-s": "compile_wall_s",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    level: Level
    text: str
    identity: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    outcomes: tuple[Outcome, ...]

    @property
    def exit_status(self) -> int:
        return 1 if any(o.level == "fail" for o in self.outcomes) else 0

    def of(self, level: Level) -> list[Outcome]:
        return [o for o in self.outcomes if o.level == level]


def check(
    report: Report,
    findings: Sequence[Finding],
    budgets: Budgets,
    baseline: Baseline | None,
    *,
    whole: Report | None = None,
) -> Verdict:
    """Without a baseline only budgets decide. ``whole``: of all steps, where ``report`` is of later ones."""
    outcomes = [*_recorded(whole or report, baseline), *_budgets(report, budgets)]
    if whole is not None and not whole.totals.graphs:
        outcomes.append(Outcome("fail", "nothing was compiled, in any step"))
    if baseline is None:
        outcomes.append(Outcome("info", "no baseline yet: make one with --write-baseline, and commit it"))
    else:
        outcomes += [*_findings(findings, budgets, baseline), *_run(report, findings, budgets, baseline)]
    return Verdict(tuple(outcomes))


def _recorded(report: Report, baseline: Baseline | None) -> Iterator[Outcome]:
    """A run that did not reach its end has fewer faults, not better code."""
    status, recording = report.recording.exit_status, report.recording
    expected = baseline.exit_status if baseline else 0
    if status is not None and status not in (0, expected):
        level: Level = "fail" if baseline else "warn"
        yield Outcome(
            level, f"the program {recording.ended or f'exited {status}'}: its counts are not complete"
        )
    if not recording.complete:
        yield Outcome("warn", "a process did not close its recording: counts may be too low")
    if any(process.damage for process in report.processes):
        yield Outcome("warn", "the recording is damaged: counts may be too low")


def _budgets(report: Report, budgets: Budgets) -> Iterator[Outcome]:
    for level, limits in (("fail", budgets.fail), ("warn", budgets.warn)):
        for key, limit in limits.items():
            value = getattr(report.totals, _TOTALS[key])
            if value is None:
                yield Outcome("warn", f"{key} is unknown in this recording, so its budget was not checked")
            elif value > limit and not (level == "warn" and value > budgets.fail.get(key, float("inf"))):
                yield Outcome(
                    "fail" if level == "fail" else "warn", f"{key}: {value:g} is more than {limit:g}"
                )


def _findings(findings: Sequence[Finding], budgets: Budgets, baseline: Baseline) -> Iterator[Outcome]:
    fails = SEVERITIES.index(budgets.fail_on)
    for finding in findings:
        known = baseline.findings.get(finding.identity)
        rank = SEVERITIES.index(finding.severity)
        level: Level = "fail" if rank <= fails else "warn"
        if known is None:
            if finding.severity != "note":
                text = f"new ({finding.severity}): {finding.summary} [{finding.rule}] {finding.place}"
                yield Outcome(level, text, finding.identity)
            continue
        grown = list(_grown(finding, known, level))
        if rank < SEVERITIES.index(known.severity):
            # Severity rises with seconds too, and those differ from run to run: alone they only warn.
            text = f"worse ({known.severity} -> {finding.severity}): {finding.summary} {finding.place}"
            yield Outcome(level if grown else "warn", text, finding.identity)
        yield from grown
    gone = [i for i in baseline.findings if i not in {f.identity for f in findings}]
    if gone:
        yield Outcome("info", f"{count(len(gone), 'known finding')} gone: --write-baseline keeps it that way")


def _grown(finding: Finding, known: Known, level: Level) -> Iterator[Outcome]:
    for name, value in counts(finding).items():
        before = known.counts.get(name, value if name in _MAY_BE_UNKNOWN else 0)
        if value > before:
            soft = name in _GROWS_WITH_STEPS or finding.severity == "note"
            text = f"{name} {before:,} -> {value:,}: {finding.summary} {finding.place}"
            yield Outcome("warn" if soft else level, text, finding.identity)


def _run(
    report: Report, findings: Sequence[Finding], budgets: Budgets, baseline: Baseline
) -> Iterator[Outcome]:
    now = baseline_of(report, findings)
    if baseline.after_step is None and baseline.totals.get("graphs", 0) and not now.totals["graphs"]:
        yield Outcome("fail", "nothing was compiled, and in the baseline something was")
    for name in ("limit_hits", "failures"):
        if now.totals[name] > baseline.totals.get(name, 0):
            yield Outcome("fail", f"{name} {baseline.totals.get(name, 0)} -> {now.totals[name]}")
    other = [
        f"{name} {baseline.made_with.get(name) or 'unknown'} -> {value or 'unknown'}"
        for name, value in environment(report).items()
        if value != baseline.made_with.get(name)
    ]
    if other:
        yield Outcome(
            "warn", f"not what the baseline was made with ({', '.join(other)}): only counts compared"
        )
    elif now.compile_s is not None and baseline.compile_s is not None:
        yield from _time(now.compile_s, baseline.compile_s, budgets)


def _time(now_s: float, before_s: float, budgets: Budgets) -> Iterator[Outcome]:
    if now_s > before_s * budgets.time_factor and now_s - before_s > budgets.time_floor_s:
        text = f"compiling took {seconds(now_s)}, {seconds(before_s)} in the baseline"
        yield Outcome("fail", f"{text} (allowed: {budgets.time_factor:g} times)")
