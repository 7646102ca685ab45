"""A comparison as text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median

from compilescope.trial.eager import AgainstEager
from compilescope.trial.measure import COUNTS, Measured
from compilescope.trial.results import counts_of
from compilescope.trial.timing import Interval, hull
from compilescope.trial.trial import Trial
from compilescope.units import count, seconds, visible

_LABEL = 20
_COLUMN = 26


def trial_text(trial: Trial) -> str:
    """What was changed, the numbers of both sides, a verdict for every finding that the change answers."""
    rows = [f"changed: {visible(phrase)}" for phrase in trial.change]
    rows += ["", *_table("before", trial.base, "changed", trial.changed)]
    rows += _row("results", trial.results.text, "")
    rows += [f"note: {visible(note)}" for note in trial.notes] + [""]
    for outcome in trial.outcomes:
        word = outcome.verdict.word or "unknown"
        other = " (by another change than its fix)" if outcome.is_fix is False else ""
        rows.append(f"{word:10} {outcome.finding.rule}  {visible(outcome.finding.place)}{other}")
        rows.append(f"{'':10} {visible(outcome.verdict.reason)}")
    if not trial.outcomes:
        rows.append("no finding of the recording is about this change")
    return "\n".join(rows) + "\n"


def eager_text(answer: AgainstEager) -> str:
    """One plain sentence first, then the numbers of both sides."""
    rows = [eager_sentence(answer), "", *_table("eager", answer.eager, "compiled", answer.compiled)]
    if answer.speedup is not None:
        rows += _row("speedup", _interval(answer.speedup, "{:.2f}x".format), "")
    rows += _row("results", answer.results.text, "")
    rows += [f"note: {visible(note)}" for note in answer.notes]
    return "\n".join(rows) + "\n"


def eager_sentence(answer: AgainstEager) -> str:
    """ "compiled 1.04x eager; 94 s to compile; pays back after step 31,000; you ran 800"."""
    ran = f"you ran {answer.steps:,}" if answer.steps is not None else "how many you ran is unknown"
    spent = f"{seconds(answer.compile_s)} to compile"
    if answer.speedup is None:
        return f"too few steps after the last compile to compare; {spent}; {ran}"
    head = f"compiled {answer.speedup.value:.2f}x eager; {spent}"
    if answer.speedup.high <= 1.0:
        return f"{head}; it does not pay: compiled steps are not faster; {ran}"
    if answer.pays_back_after is None:
        return f"{head}; it does not pay as measured, but the intervals overlap; {ran}"
    after = f"pays back after step {_rounded(answer.pays_back_after.value)}"
    shown = (
        "" if math.isfinite(answer.pays_back_after.high) else " (not shown to be faster: intervals overlap)"
    )
    pays = {False: ": it did not pay in this run", None: "", True: ""}[answer.pays]
    return f"{head}; {after}{shown}; {ran}{pays}"


def _table(one: str, before: Sequence[Measured], other: str, after: Sequence[Measured]) -> Iterator[str]:
    yield from _row("", f"{one} ({count(len(before), 'run')})", f"{other} ({count(len(after), 'run')})")
    for name in COUNTS:
        pair = [_spread(counts_of(side, name)) for side in (before, after)]
        yield from _row(name.replace("_", " "), *pair)
    yield from _row("compiling", *(_seconds([r.compile_s for r in side]) for side in (before, after)))
    yield from _row("whole program", *(_seconds([r.wall_s for r in side]) for side in (before, after)))
    yield from _row("steady step", *(_step(side) for side in (before, after)))
    basis = next((run.steps.basis for run in (*before, *after) if run.steps), None)
    yield from _row("steps are", visible(basis or "unknown"), "")
    statuses = (", ".join(dict.fromkeys(str(r.exit_status) for r in side)) for side in (before, after))
    yield from _row("exit status", *statuses)


def _row(label: str, one: str, other: str) -> list[str]:
    return [f"{label:{_LABEL}} {one:{_COLUMN}} {other}".rstrip()]


def _spread(values: Sequence[int]) -> str:
    if not values:
        return "unknown"
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _seconds(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "unknown"
    middle = seconds(median(known))
    return middle if len(known) == 1 else f"{middle} ({seconds(min(known))} to {seconds(max(known))})"


def _step(runs: Sequence[Measured]) -> str:
    found = hull([run.step_s for run in runs if run.step_s])
    return "unknown: too few" if found is None else _interval(found, seconds)


def _interval(found: Interval, form: object) -> str:
    assert callable(form)
    return f"{form(found.value)} ({form(found.low)} to {form(found.high)})"


def _rounded(steps: float) -> str:
    """Two digits are all that such a quotient holds: 30,912.4 -> 31,000."""
    digits = max(math.floor(math.log10(steps)) - 1, 0) if steps >= 1 else 0
    return f"{round(steps, -digits):,.0f}"
