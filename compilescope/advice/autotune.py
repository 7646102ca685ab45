"""An implementation that was chosen for one size and runs at others, where another one is quicker."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from compilescope.advice.cause import Cause, Place, Telling, finding, with_cost
from compilescope.advice.facts import Facts, Rows
from compilescope.advice.finding import Amount, Finding
from compilescope.analysis.paths import called
from compilescope.analysis.report import TunedRow, TunedSite
from compilescope.units import count

_SHARE = 0.1  # of the calls: fewer far ones are not worth a change
_SLOWER = 1.1  # a measured slowdown below this is noise

Far = tuple[TunedSite, TunedRow]


def autotuning(facts: Facts, _rows: Rows) -> Iterator[Finding]:
    """One finding a function: every GEMM of a dynamic graph is timed at the same hint."""
    by_function: dict[tuple[str, int, str], list[Far]] = defaultdict(list)
    for site in facts.report.tuned_sites:
        for row in site.rows:
            if (row.far_share or 0.0) >= _SHARE:
                by_function[site.file, site.line, site.function].append((site, row))
    for (file, line, function), far in by_function.items():
        yield _finding(facts, Place(file, line, function), far)


def _finding(facts: Facts, place: Place, far: Sequence[Far]) -> Finding:
    _, row = max(far, key=lambda pair: (pair[1].slowdown or 0.0, pair[1].far_share or 0.0))
    slower = row.slowdown is not None and row.slowdown >= _SLOWER
    sizes = [use for use in row.uses if use.ratio is not None]
    farthest = max(sizes, key=lambda use: use.ratio or 0.0)
    used = " x ".join(str(n) for n in farthest.sizes.values())
    telling = Telling(
        rule="autotuned_at_other_size",
        fix_kind="pad_to_buckets",
        summary=f"{called(place.function)}: {count(len(far), 'operation')} autotuned at {row.label} "
        f"{'are' if len(far) > 1 else 'is'} used at sizes such as {used}, {farthest.ratio:.3g} times apart",
        fix="compile a bucket for each range of sizes, or make the first call with a size that is typical",
        subject="autotune hint",
        confidence="high" if slower else "medium",
        could_be_wrong="the same implementation may be the best one at those sizes too; none was timed there"
        if row.slowdown is None
        else "the times are of the operation alone, with nothing fused into it",
        notes=tuple(_note(site, row) for site, row in far[:4]),
    )
    found = finding(facts, Cause(), place, telling, "medium" if slower else "low")
    cost = {"calls_far": Amount(row.calls_far or 0, "counted", "calls at sizes far from the timed one")}
    if row.slowdown is not None:
        how = f"torch's own timings at {row.slowdown_at}, against the best candidate there"
        cost["slowdown"] = Amount(row.slowdown, "measured", how)
    return with_cost(found, cost)


def _note(site: TunedSite, row: TunedRow) -> str:
    slower = f"; {row.slowdown:g} times the best one's time at {row.slowdown_at}" if row.slowdown else ""
    return (
        f"{site.op} [{', '.join(row.shapes)}]: {row.winner} chosen at {', '.join(row.timed_at)}; "
        f"{(row.far_share or 0.0):.0%} of the calls far from it{slower}"
    )
