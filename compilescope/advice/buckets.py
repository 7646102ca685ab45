"""Rules for the rungs of a bucket ladder, where a bucketed backend reported them.

A function is captured several times: in each grad mode, and for sizes of 1, which torch keeps apart. Its
graphs are looked at together, since a call finds its rung in whichever of them takes it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from compilescope.advice.cause import Cause, Place, Telling, finding, with_cost
from compilescope.advice.facts import Facts, Rows
from compilescope.advice.finding import Amount, Finding, Saving, Severity
from compilescope.advice.of_frame import with_saving
from compilescope.analysis.buckets import LADDER
from compilescope.analysis.report import Bucket
from compilescope.units import count, seconds

_WASTE = 0.25  # of all rows computed
_OUTSIDE = 0.25  # of all calls
_MAX_NAMES = 4
_NUMBER = re.compile(r"\d[\d.]*(?:e[+-]?\d+)?")
_COULD_BE_WRONG = {
    "bucket_refused": "no call of this or of later runs may have the sizes of the rung",
    "bucket_never_hit": "the sizes may come in other runs: this one may have been too short",
    "bucket_ladder_poor_fit": "padded rows cost little where the device is not the bottleneck",
    "bucket_traffic_outside": "the dynamic artifact may be as fast at those sizes: measure it",
    "bucket_does_not_pay": "the run was a short trial of a long one, or the cache is warm next time",
}


def buckets(facts: Facts, _rows: Rows) -> Iterator[Finding]:
    functions: dict[tuple[object, ...], list[Bucket]] = defaultdict(list)
    for row in facts.report.buckets:
        functions[row.backend, row.function, row.file or row.graph, row.line].append(row)
    for rungs in functions.values():
        yield from _refused(facts, rungs)
        yield from _unused(facts, rungs)
        yield from _padding(facts, rungs)
        yield from _outside(facts, rungs)
        yield from _unpaid(facts, rungs)


def _refused(facts: Facts, rungs: Sequence[Bucket]) -> Iterator[Finding]:
    """One finding for each guard, or other reason, with all the rungs it forbids."""
    causes: dict[str, list[Bucket]] = defaultdict(list)
    for rung in _told(rungs):
        causes[rung.guard or _NUMBER.sub("N", rung.refused or "")].append(rung)
    for cause, forbidden in causes.items():
        first, labels = forbidden[0], _labels(forbidden)
        one = len(labels) == 1
        why = ", ".join(filter(None, (first.refused, first.guard, first.user_line)))
        yield _finding(
            facts,
            forbidden,
            "bucket_refused",
            "fix_or_drop_rung",
            f"the rung {labels[0]} was refused: {why}"
            if one
            else f"{len(labels)} rungs were refused, {_few(labels)}: {why}",
            f"remove what forbids {'it' if one else 'them'}, or take {'the rung' if one else 'them'} off "
            "the ladder",
            severity="medium",
            subject=cause,
        )


def _told(rungs: Sequence[Bucket]) -> list[Bucket]:
    """Refusals of rungs that no graph of the state has. Where a guard or a line explains one, it is told
    rather than that a size is 1 in another graph.
    """
    refused = [rung for rung in rungs if rung.refused and not rung.elsewhere and rung.live]
    explained = {(rung.state, rung.rung) for rung in refused if rung.guard or rung.user_line}
    return [
        rung for rung in refused if rung.guard or rung.user_line or (rung.state, rung.rung) not in explained
    ]


def _unused(facts: Facts, rungs: Sequence[Bucket]) -> Iterator[Finding]:
    """Compiled, and used by no call in any state, where other rungs or artifacts were."""
    if not any(rung.hits for rung in rungs):
        return
    by_label: dict[str, list[Bucket]] = defaultdict(list)
    for rung in rungs:
        if rung.kind in LADDER and rung.compile_s:
            by_label[_label(rung)].append(rung)
    idle = [rung for same in by_label.values() if all(each.hits == 0 for each in same) for rung in same]
    if idle:
        spent = sum(rung.compile_s or 0.0 for rung in idle)
        labels = _labels(idle)
        found = _finding(
            facts,
            idle,
            "bucket_never_hit",
            "refit_ladder",
            f"{count(len(labels), 'rung')} compiled and never used: {_few(labels)}",
            "take them off the ladder, or warm them up only where their sizes occur",
            severity="low",
            subject="unused",
        )
        yield with_cost(
            _saving(found, spent),
            {"compile_s": Amount(round(spent, 6), "measured", "compiles of those rungs")},
        )


def _padding(facts: Facts, rungs: Sequence[Bucket]) -> Iterator[Finding]:
    padded = sum(rung.padded_rows or 0 for rung in rungs)
    computed = sum((rung.hits or 0) * _rows_of(rung) for rung in rungs)
    if computed and padded / computed >= _WASTE:
        found = _finding(
            facts,
            rungs,
            "bucket_ladder_poor_fit",
            "refit_ladder",
            f"{padded:,} of {computed:,} rows computed were padding",
            "place the rungs just above the sizes that occur",
            severity="medium",
            subject="padding",
        )
        yield with_cost(found, {"padded_rows": Amount(padded, "counted", "rows added by padding")})


def _outside(facts: Facts, rungs: Sequence[Bucket]) -> Iterator[Finding]:
    """Calls that no rung of the ladder was made for."""
    others = [rung for rung in rungs if rung.kind not in LADDER and rung.hits]
    served, fallen = sum(rung.hits or 0 for rung in rungs), sum(rung.hits or 0 for rung in others)
    if not any(rung.kind in LADDER for rung in rungs) or not served or fallen / served < _OUTSIDE:
        return
    sizes = sorted(
        (size for rung in others for size in rung.sizes if size.values), key=lambda size: -size.count
    )
    named = ", ".join(
        " x ".join(map(str, values.values())) for size in sizes[:_MAX_NAMES] if (values := size.values)
    )
    eager = [rung for rung in others if rung.kind == "eager" and rung.bypassed is None]
    found = _finding(
        facts,
        others,
        "bucket_traffic_outside",
        "refit_ladder",
        f"{fallen:,} of {served:,} calls came with sizes that are not on the ladder, and {_ways(others)}"
        + (f": {named}" if named else ""),
        "mend that, or accept it: such calls run compiled, as without a ladder"
        if all(rung.bypassed for rung in others)
        else "plan the ladder from the sizes that came: compilescope ladder RECORDING",
        severity="medium" if eager else "low",
        subject="outside",
    )
    yield replace(
        with_cost(found, {"calls_outside": Amount(fallen, "counted", "calls by rung")}), executions=fallen
    )


def _ways(others: Iterable[Bucket]) -> str:
    """Where such calls go; the worst where they go several ways."""
    ways = {"bypassed" if rung.bypassed else rung.kind: rung.bypassed for rung in others}
    if "eager" in ways:
        return "run eager"
    if "dynamic" in ways:
        return "go to the dynamic artifact"
    return f"go to a graph without rungs, since {ways['bypassed']}"


def _unpaid(facts: Facts, rungs: Sequence[Bucket]) -> Iterator[Finding]:
    """Certain only where compiling the static rungs took longer than everything else together."""
    used = [rung for rung in rungs if rung.kind in ("pin", "pad") and rung.hits and rung.compile_s]
    spent = sum(rung.compile_s or 0.0 for rung in used)
    wall, compiling = facts.report.recording.wall_s, facts.report.totals.compile_wall_s
    if not used or wall is None or compiling is None or spent <= (rest := max(wall - compiling, 0.0)):
        return
    found = _finding(
        facts,
        used,
        "bucket_does_not_pay",
        "refit_ladder",
        f"{count(len(used), 'static rung')} took {seconds(spent)} to compile, more than all of the run that "
        f"was not compiling ({seconds(rest)}): they cannot have paid in this run",
        "keep them for longer runs, or for a cache that is warm; else leave them off the ladder",
        severity="note",
        subject="unpaid",
    )
    yield with_cost(found, {"compile_s": Amount(round(spent, 6), "measured", "compiles of those rungs")})


def _finding(
    facts: Facts,
    rungs: Sequence[Bucket],
    rule: str,
    fix_kind: str,
    summary: str,
    fix: str,
    *,
    severity: Severity,
    subject: str,
) -> Finding:
    graph = rungs[0].graph
    row = next((g for g in facts.report.graphs if g.compile_id == graph), None)
    place = Place(row.file, row.line, row.function) if row else Place(None, None, str(graph))
    name = f"{place.function}()" if row else f"graph {graph}"
    telling = Telling(
        rule, fix_kind, f"{name}: {summary}", fix, subject, could_be_wrong=_COULD_BE_WRONG[rule]
    )
    return finding(facts, Cause(), place, telling, severity)


def _saving(found: Finding, spent_s: float) -> Finding:
    return with_saving(found, Saving(round(spent_s, 6), 0.0, "compiles of rungs without a call, measured"))


def _labels(rungs: Iterable[Bucket]) -> list[str]:
    return list(dict.fromkeys(map(_label, rungs)))


def _few(labels: Sequence[str]) -> str:
    more = len(labels) - _MAX_NAMES
    between = "; " if any("," in label for label in labels) else ", "
    return between.join(labels[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


def _label(rung: Bucket) -> str:
    """As the ladder calls it, and so the tables of rungs: "<=16", "dynamic"."""
    return rung.rung or " x ".join(map(str, rung.dims.values()))


def _rows_of(rung: Bucket) -> int:
    values = [value for value in rung.dims.values() if isinstance(value, int)]
    product = 1
    for value in values:
        product *= value
    return product if values else 0
