"""Keeps the verdicts of a trial beside the recording that the findings are from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from compilescope.advice.finding import Verification
from compilescope.advice.verdicts import write_verdicts
from compilescope.trial.measure import Measured
from compilescope.trial.results import finding_counts
from compilescope.trial.timing import hull
from compilescope.trial.trial import Outcome, Trial


def keep_verdicts(recording: Path, trial: Trial, say: Callable[[str], None]) -> None:
    """A recording that cannot be written to costs the note, not the trial."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    made = {
        outcome.finding.identity: verification
        for outcome in trial.outcomes
        if (verification := _verification(trial, outcome, now)) is not None
    }
    if not made:
        return
    try:
        write_verdicts(recording, made)
    except OSError as problem:
        say(f"the verdicts could not be kept beside {recording}: {problem.strerror or problem}")


def _verification(trial: Trial, outcome: Outcome, now: str) -> Verification | None:
    if outcome.verdict.word is None:
        return None
    identity = outcome.finding.identity
    return Verification(
        word=outcome.verdict.word,
        reason=outcome.verdict.reason,
        change=trial.change,
        before=_figures(trial.base, identity),
        after=_figures(trial.changed, identity),
        is_fix=outcome.is_fix,
        at=now,
    )


def _figures(runs: Sequence[Measured], identity: str) -> Mapping[str, float]:
    """Of several runs the lowest count, and the median step; the compile seconds of the quickest."""
    counts = finding_counts(runs, identity)
    names = dict.fromkeys(name for one in counts for name in one if not name.endswith("_s"))
    figures = {name: min(one.get(name, 0.0) for one in counts) for name in names}
    step = hull([run.step_s for run in runs if run.step_s])
    spent = [run.compile_s for run in runs if run.compile_s is not None]
    figures |= {"step_s": step.value} if step else {}
    return figures | ({"compile_s": min(spent)} if spent else {})
