"""``compilescope verify``: does a change do what a finding says it would?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from compilescope.advice import Finding, examine
from compilescope.analysis import Report
from compilescope.errors import UsageError
from compilescope.launch import Target
from compilescope.model import Run, load
from compilescope.recording import open_recording
from compilescope.trial.changes import RECIPES, Change, change_for
from compilescope.trial.measure import Measured
from compilescope.trial.results import Results, compare_results
from compilescope.trial.runs import Side, run_by_turns
from compilescope.trial.sides import Diffs, edited_sides, with_diffs
from compilescope.trial.verdict import Verdict, harms, judge

ALL = "all"


@dataclass(frozen=True, slots=True)
class Outcome:
    """``is_fix`` is False when another change than the finding's own was tried, None for an edited script."""

    finding: Finding
    verdict: Verdict
    is_fix: bool | None


@dataclass(frozen=True, slots=True)
class Trial:
    """``change`` has one phrase a change. ``outcomes`` are those of findings that it answers."""

    change: tuple[str, ...]
    base: tuple[Measured, ...]
    changed: tuple[Measured, ...]
    results: Results
    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...]


def verify(
    recording: Path,
    target: Target,
    *,
    rules: Sequence[str] = (),
    diffs: Sequence[str] = (),
    either: Sequence[str] = (),
    bucketed: bool = False,
    settings: dict[str, object] | None = None,
    mode: str | None = None,
    repeats: int = 2,
    folder: Path,
    fresh_cache: bool = True,
    say: Callable[[str], None],
) -> Trial:
    """Run ``target`` without and with the change, ``repeats`` times each, by turns; all into ``folder``.

    ``rules`` are applied by settings, ``diffs`` are rules whose findings' diffs are applied to a copy of the
    program, ``either`` by the setting that is their fix, else by their diff, else by another setting; "all"
    stands for every one that can be. ``bucketed``: sizes get buckets, too. With nothing to apply, ``target``
    is the edited program, compared with the recorded one.

    Raises UsageError when there is nothing to try, and RecordingError.
    """
    target.check()
    if bucketed and not (rules or either):
        raise UsageError("buckets are made for the sizes of findings", hint="name them: --apply size_drift")
    run = load(open_recording(recording))
    report, findings = examine(run)
    by_setting, by_diff = _ways(report, findings, either)
    wanted = _Wanted(
        (*rules, *by_setting),
        (*diffs, *by_diff),
        bucketed,
        settings or {},
        mode,
        told=(*rules, *diffs, *either),
    )
    plan = _plan(run, report, findings, target, wanted, folder)
    base, changed = run_by_turns(plan.sides, repeats, folder, say, fresh_cache=fresh_cache)
    results = compare_results(base, changed)
    harm = harms(base, changed, results)
    return Trial(
        change=tuple(plan.words),
        base=tuple(base),
        changed=tuple(changed),
        results=results,
        outcomes=tuple(
            Outcome(finding, judge(finding, finding.identity, base, changed, harm), plan.is_fix(finding))
            for finding in _matching(base, findings)
            if plan.answers(finding)
        ),
        notes=(*plan.notes, *dict.fromkeys(note for run in changed for note in run.problems)),
    )


def with_verdicts(report: Report, trial: Trial) -> Report:
    """The report with ``verified`` of its findings filled where the trial has a verdict on them."""
    words = {outcome.finding.identity: outcome.verdict.word for outcome in trial.outcomes}
    found = [
        f | {"verified": words.get(str(f.get("identity"))) or f.get("verified")} for f in report.findings
    ]
    return replace(report, findings=found)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """``told``: the rules that the user named."""

    rules: Sequence[str]
    diffs: Sequence[str]
    bucketed: bool
    settings: dict[str, object]
    mode: str | None
    told: Sequence[str]


def _ways(report: Report, findings: Sequence[Finding], either: Sequence[str]) -> tuple[list[str], list[str]]:
    """Rules to apply by a setting, and by a diff."""
    by_setting, by_diff = list[str](), list[str]()
    for rule in dict.fromkeys(finding.rule for finding in findings):
        if rule not in either and ALL not in either:
            continue
        change = change_for(report, findings, [rule])
        has_diff = any(finding.diff for finding in findings if finding.rule == rule)
        if rule in change.fixes or (change.rules and not has_diff):
            by_setting.append(rule)
        elif has_diff:
            by_diff.append(rule)
    return by_setting, by_diff


@dataclass(frozen=True, slots=True)
class _Plan:
    sides: tuple[Side, Side]
    words: Sequence[str]
    notes: Sequence[str]
    rules: frozenset[str] | None  # None: every finding is answered
    fixes: frozenset[str]

    def answers(self, finding: Finding) -> bool:
        return self.rules is None or finding.rule in self.rules

    def is_fix(self, finding: Finding) -> bool | None:
        return None if self.rules is None else finding.rule in self.fixes


def _plan(
    run: Run, report: Report, findings: Sequence[Finding], target: Target, wanted: _Wanted, folder: Path
) -> _Plan:
    rules, diffs = wanted.rules, wanted.diffs
    if not (rules or diffs or wanted.told or wanted.settings or wanted.mode):
        sides, words = edited_sides(run, target, folder)
        return _Plan(sides, words, (), None, frozenset())
    change = change_for(report, findings, RECIPES if ALL in rules else rules, bucketed=wanted.bucketed)
    known = frozenset(change.rules)
    change = replace(change, settings={**change.settings, **wanted.settings}, mode=wanted.mode)
    patched = with_diffs(run, findings, target, None if ALL in diffs else diffs, folder) if diffs else Diffs()
    notes = [*patched.problems, *_unanswered(findings, wanted.told, known | patched.rules)]
    if wanted.bucketed and not change.buckets:
        notes.append("no ladder could be planned: no size of a plain argument was counted")
    if not (change.words or patched.rules):
        raise UsageError(f"nothing to apply: {'; '.join(notes) or 'no finding has such a change'}")
    sides = (
        Side("base", target, Change()),
        Side("changed", patched.target or target, change, patched.shown),
    )
    every = None if not (known or patched.rules) else known | patched.rules
    fixes = frozenset(change.fixes) | patched.rules
    return _Plan(sides, [*change.words, *patched.words], notes, every, fixes)


def _unanswered(findings: Sequence[Finding], wanted: Iterable[str], done: Iterable[str]) -> list[str]:
    present, answered = {finding.rule for finding in findings}, set(done)
    notes = []
    for rule in wanted:
        if rule != ALL and rule not in answered:
            why = "cannot be changed that way" if rule in present else "is no finding of the recording"
            notes.append(f"{rule} {why}")
    return notes


def _matching(base: Sequence[Measured], findings: Sequence[Finding]) -> list[Finding]:
    """The recorded findings; where the runs name files otherwise, being in another folder, theirs."""
    if not base or any(finding.identity in base[0].by_finding for finding in findings):
        return list(findings)
    return list(base[0].findings)
