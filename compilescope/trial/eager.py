"""``compilescope verify --against eager``: does compiling help at all, and after how many steps?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from compilescope.launch import Target
from compilescope.trial.changes import Change
from compilescope.trial.measure import Measured
from compilescope.trial.results import Results, compare_results
from compilescope.trial.runs import Side, run_by_turns
from compilescope.trial.timing import Interval, hull

EAGER = Change(stance="force_eager")


@dataclass(frozen=True, slots=True)
class AgainstEager:
    """``speedup`` is the eager step over the compiled one: above 1 compiling helps. None is unknown.

    ``pays_back_after`` counts steps, None where no step is shown to be saved. ``low`` is the best case.
    """

    compiled: tuple[Measured, ...]
    eager: tuple[Measured, ...]
    results: Results
    compiled_step_s: Interval | None
    eager_step_s: Interval | None
    speedup: Interval | None
    compile_s: float | None
    pays_back_after: Interval | None
    steps: int | None
    basis: str | None
    notes: tuple[str, ...] = ()

    @property
    def pays(self) -> bool | None:
        """Whether this run was long enough; None when the measurement cannot tell."""
        if self.speedup is None:
            return None
        if self.speedup.high <= 1.0:
            return False
        if self.pays_back_after is None or self.steps is None:
            return None
        if self.steps < self.pays_back_after.low:
            return False
        return True if self.steps >= self.pays_back_after.high else None


def against_eager(
    target: Target,
    *,
    repeats: int = 2,
    folder: Path,
    change: Change | None = None,
    fresh_cache: bool = True,
    say: Callable[[str], None],
) -> AgainstEager:
    """Run ``target`` compiled and eager by turns. ``change`` is applied to both sides.

    Eager means the stance ``force_eager``: the program's objects are those of a compiled run, and what it
    compiles is executed by the interpreter. Raises UsageError and RecordingError.
    """
    target.check()
    compiled_change = change or Change()
    sides = (
        Side("compiled", target, compiled_change),
        Side("eager", target, replace(compiled_change, stance=EAGER.stance)),
    )
    compiled, eager = run_by_turns(sides, repeats, folder, say, fresh_cache=fresh_cache)
    return weigh(compiled, eager)


def weigh(compiled: list[Measured], eager: list[Measured]) -> AgainstEager:
    """Pure: from the runs of both sides to the answer."""
    fast, slow = (hull([r.step_s for r in runs if r.step_s]) for runs in (compiled, eager))
    spent = [run.compile_s for run in compiled if run.compile_s is not None]
    compile_s = median(spent) if spent else None
    steps = [run.steps for run in compiled if run.steps is not None]
    return AgainstEager(
        compiled=tuple(compiled),
        eager=tuple(eager),
        results=compare_results(eager, compiled),
        compiled_step_s=fast,
        eager_step_s=slow,
        speedup=_ratio(slow, fast),
        compile_s=compile_s,
        pays_back_after=_pay_back(fast, slow, compile_s),
        steps=max((s.count for s in steps), default=None),
        basis=steps[0].basis if steps else None,
        notes=tuple(_notes(compiled, eager)),
    )


def _ratio(slow: Interval | None, fast: Interval | None) -> Interval | None:
    if slow is None or fast is None or min(fast.low, fast.value) <= 0:
        return None
    return Interval(slow.value / fast.value, slow.low / fast.high, slow.high / fast.low)


def _pay_back(fast: Interval | None, slow: Interval | None, compile_s: float | None) -> Interval | None:
    """Steps until the seconds spent on compiling are saved; unbounded above where the savings may be none."""
    if fast is None or slow is None or compile_s is None or slow.value <= fast.value:
        return None
    least, most = slow.low - fast.high, slow.high - fast.low
    longest = compile_s / least if least > 0 else float("inf")
    return Interval(compile_s / (slow.value - fast.value), compile_s / most, longest)


def _notes(compiled: list[Measured], eager: list[Measured]) -> list[str]:
    notes = [problem for run in (*compiled, *eager) for problem in run.problems]
    failed = [("compiled", r) for r in compiled if r.exit_status] + [
        ("eager", r) for r in eager if r.exit_status
    ]
    notes += [f"a run ({name}) ended with status {run.exit_status}" for name, run in failed]
    if any(run.counts.get("graphs") for run in eager):
        notes.append(
            "the eager runs compiled graphs: the program sets a stance itself, or calls a compiler directly"
        )
    bases = {run.steps.basis for run in (*compiled, *eager) if run.steps}
    if len(bases) > 1:
        notes.append(f"the sides count steps by different calls: {', '.join(sorted(bases))}")
    return list(dict.fromkeys(notes))
