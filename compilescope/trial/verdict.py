"""Did the change help against a finding? Fewer events are not enough where something else got worse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from compilescope.advice import Finding
from compilescope.trial.measure import Measured
from compilescope.trial.results import Results, counts_of, finding_counts
from compilescope.trial.timing import hull
from compilescope.units import seconds

Word = Literal["verified", "no effect", "harmful"]

# What a finding is about, the worst first, and the total of the run that has to fall with it: a cause that
# comes back under another name did not go away.
_MEASURES = (
    ("failures", "failures"),
    ("eager_calls", "eager_calls"),
    ("break_events", "break_events"),
    ("breaks_executed", "break_events"),
    ("recompiles", "recompiles"),
    ("guards", None),
    ("captures", None),
)
_MAY_NOT_RISE = ("failures", "limit_hits", "eager_calls")
# Two runs a side lie apart by chance once in six times, four once in seventy: few runs need a large factor.
_MANY_RUNS = 4
_SLOWER = {True: 1.05, False: 1.25}  # many runs or few
_COMPILE_FACTOR = {True: 1.2, False: 1.5}
_COMPILE_FLOOR_S = 0.5
_COMPILES_PER_CALL = 2  # a compile has to save more than this many eager calls


@dataclass(frozen=True, slots=True)
class Verdict:
    """``word`` is None when the runs cannot tell: the finding did not show in the unchanged ones."""

    word: Word | None
    reason: str


def harms(base: Sequence[Measured], changed: Sequence[Measured], results: Results) -> list[str]:
    """What the changed runs do worse, whatever the finding."""
    found = list(_statuses(base, changed))
    found += [f"results differ: {differing}" for differing in results.differing]
    for name in _MAY_NOT_RISE:
        before, after = counts_of(base, name), counts_of(changed, name)
        if before and after and min(after) > max(before):
            found.append(f"{name.replace('_', ' ')} {max(before):,} -> {min(after):,}")
    return found + list(_times(base, changed))


def _statuses(base: Sequence[Measured], changed: Sequence[Measured]) -> Iterator[str]:
    before = {run.exit_status for run in base}
    after = {run.exit_status for run in changed} - before
    if 0 in before and after:
        yield f"the program ended with status {', '.join(map(str, sorted(after, key=str)))}"


def _times(base: Sequence[Measured], changed: Sequence[Measured]) -> Iterator[str]:
    """One run a side says nothing about time."""
    fewest = min(len(base), len(changed))
    if fewest < 2:
        return
    many = fewest >= _MANY_RUNS
    before, after = (hull([r.step_s for r in runs if r.step_s]) for runs in (base, changed))
    if before and after and after.low > before.high and after.value > before.value * _SLOWER[many]:
        yield f"a steady step takes {seconds(after.value)}, {seconds(before.value)} before"
    faster = bool(before and after and after.high < before.low)
    if not faster and not _compiles_more(base, changed):
        yield from _compile_time(base, changed)


def _compile_time(base: Sequence[Measured], changed: Sequence[Measured]) -> Iterator[str]:
    fewest = min(len(base), len(changed))
    spent, now = ([r.compile_s for r in runs if r.compile_s is not None] for runs in (base, changed))
    if not spent or not now or fewest < 2:
        return
    more, factor = min(now) - max(spent), _COMPILE_FACTOR[fewest >= _MANY_RUNS]
    if more > _COMPILE_FLOOR_S and min(now) > max(spent) * factor:
        yield f"compiling takes {seconds(min(now))}, {seconds(max(spent))} before"


def _compiles_more(base: Sequence[Measured], changed: Sequence[Measured]) -> bool:
    """Code that ran eager is compiled now, once: its compile time is the price of the change, not a fault."""
    return _lower(base, changed, "eager_calls") or _lower(base, changed, "break_events")


def _lower(base: Sequence[Measured], changed: Sequence[Measured], name: str) -> bool:
    before, after = counts_of(base, name), counts_of(changed, name)
    return bool(before and after) and max(after) < min(before)


def judge(
    finding: Finding,
    identity: str,
    base: Sequence[Measured],
    changed: Sequence[Measured],
    harm: Sequence[str],
) -> Verdict:
    """``identity`` is that of the finding as the runs name it."""
    before = finding_counts(base, identity)
    if not before or not all(before):
        return Verdict(None, "the finding did not show in every unchanged run")
    if harm:
        return Verdict("harmful", "; ".join(harm))
    after = finding_counts(changed, identity)
    for name, total in _MEASURES:
        if name not in finding.cost:
            continue
        old = min(counts.get(name, 0.0) for counts in before)
        new = max(counts.get(name, 0.0) for counts in after)
        if not old:
            continue
        told = f"{name.replace('_', ' ')} {old:,.0f} -> {new:,.0f}"
        if name == "failures" and _ends_well_now(base, changed):
            return Verdict("verified", f"the program ends with status 0, before with {base[0].exit_status}")
        if new >= old:
            return Verdict("no effect", told)
        if total is not None and not _lower(base, changed, total):
            return Verdict("no effect", f"{told}, but of all {total.replace('_', ' ')} none fewer")
        more = _compiles_instead(name, before, after)
        if more * _COMPILES_PER_CALL > old - new:
            return Verdict("harmful", f"{told}, but {more:,.0f} more compiles: about one for every such call")
        left = max(counts_of(changed, total), default=0) if total is not None else 0
        rest = (
            f"; {left:,} {total.replace('_', ' ')} of other causes are left" if total and left > new else ""
        )
        price = [f"; {text}: more is compiled" for text in _compile_time(base, changed)]
        return Verdict("verified", told + rest + "".join(price if _compiles_more(base, changed) else []))
    gone = not any(after)
    return Verdict("verified" if gone else "no effect", "the finding is gone" if gone else "still found")


def _ends_well_now(base: Sequence[Measured], changed: Sequence[Measured]) -> bool:
    """An error that no longer reaches the program is as good as none, however it was avoided."""
    return all(run.exit_status for run in base) and all(run.exit_status == 0 for run in changed)


def _compiles_instead(
    name: str, before: Sequence[Mapping[str, float]], after: Sequence[Mapping[str, float]]
) -> float:
    """A higher limit turns eager calls into compiles: a bargain only where each is then used many times."""
    if name != "eager_calls":
        return 0.0
    old, new = ([counts.get("recompiles", 0.0) for counts in runs] for runs in (before, after))
    return max(max(new, default=0.0) - max(old, default=0.0), 0.0)
