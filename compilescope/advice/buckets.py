"""Rules for the rungs of a bucket ladder, where a bucketed backend reported them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from compilescope.advice.cause import Cause, Place, Telling, finding, with_cost
from compilescope.advice.facts import Facts, Rows
from compilescope.advice.finding import Amount, Finding, Saving, Severity
from compilescope.advice.of_frame import with_saving
from compilescope.units import count, seconds

_WASTE = 0.25  # of all rows computed
_OUTSIDE = 0.25  # of all calls
_COULD_BE_WRONG = {
    "bucket_refused": "another captured graph of the same function may admit the rung",
    "bucket_never_hit": "the sizes may come in other runs: this one may have been too short",
    "bucket_ladder_poor_fit": "padded rows cost little where the device is not the bottleneck",
    "bucket_traffic_outside": "the dynamic artifact may be as fast at those sizes: measure it",
    "bucket_does_not_pay": "the run was a short trial of a long one, or the cache is warm next time",
}
_LADDER = ("pin", "pad", "range")
_SERVED = (*_LADDER, "dynamic", "eager")


def buckets(facts: Facts, _rows: Rows) -> Iterator[Finding]:
    ladders: dict[str, list[Mapping[str, Any]]] = {}
    for bucket in facts.report.buckets:
        ladders.setdefault(str(bucket.graph), []).append(asdict(bucket))
    for graph, rungs in ladders.items():
        yield from _refused(facts, graph, rungs)
        yield from _unused(facts, graph, rungs)
        yield from _padding(facts, graph, rungs)
        yield from _outside(facts, graph, rungs)
        yield from _unpaid(facts, graph, rungs)


def _refused(facts: Facts, graph: str, rungs: list[Mapping[str, Any]]) -> Iterator[Finding]:
    for rung in rungs:
        if rung.get("refused"):
            yield _finding(
                facts,
                graph,
                "bucket_refused",
                "fix_or_drop_rung",
                f"the rung {_label(rung)} was refused: {rung['refused']}",
                "remove what forbids it, or take the rung off the ladder",
                severity="medium",
                subject=_dims(rung),
            )


def _unused(facts: Facts, graph: str, rungs: list[Mapping[str, Any]]) -> Iterator[Finding]:
    idle = [r for r in rungs if r.get("hits") == 0 and (r.get("compile_s") or 0) > 0]
    if idle:
        spent = sum(float(r["compile_s"]) for r in idle)
        found = _finding(
            facts,
            graph,
            "bucket_never_hit",
            "refit_ladder",
            f"{count(len(idle), 'rung')} compiled and never used: " + ", ".join(map(_label, idle[:4])),
            "take them off the ladder, or warm them up only where their sizes occur",
            severity="low",
            subject="unused",
        )
        yield with_cost(
            _saving(found, spent),
            {"compile_s": Amount(round(spent, 6), "measured", "compiles of those rungs")},
        )


def _padding(facts: Facts, graph: str, rungs: list[Mapping[str, Any]]) -> Iterator[Finding]:
    padded = sum(int(r.get("padded_rows") or 0) for r in rungs)
    computed = sum(int(r.get("hits") or 0) * _rows_of(r) for r in rungs)
    if computed and padded / computed >= _WASTE:
        found = _finding(
            facts,
            graph,
            "bucket_ladder_poor_fit",
            "refit_ladder",
            f"{padded:,} of {computed:,} rows computed were padding",
            "place the rungs just above the sizes that occur",
            severity="medium",
            subject="padding",
        )
        yield with_cost(found, {"padded_rows": Amount(padded, "counted", "rows added by padding")})


def _outside(facts: Facts, graph: str, rungs: list[Mapping[str, Any]]) -> Iterator[Finding]:
    """Calls that no rung of the ladder was made for."""
    hits = {kind: sum(int(r.get("hits") or 0) for r in rungs if r.get("kind") == kind) for kind in _SERVED}
    served, fallen = sum(hits.values()), hits["dynamic"] + hits["eager"]
    if not any(r.get("kind") in _LADDER for r in rungs) or not served or fallen / served < _OUTSIDE:
        return
    sizes = [s for r in rungs if r.get("kind") in ("dynamic", "eager") for s in r.get("sizes") or ()]
    common = sorted((s for s in sizes if s.get("values")), key=lambda s: -int(s.get("count") or 0))[:4]
    named = ", ".join(" x ".join(str(v) for v in s["values"].values()) for s in common)
    by = "run eager" if hits["eager"] else "go to the dynamic artifact"
    found = _finding(
        facts,
        graph,
        "bucket_traffic_outside",
        "refit_ladder",
        f"{fallen:,} of {served:,} calls came with sizes that are not on the ladder, and {by}"
        + (f": {named}" if named else ""),
        "plan the ladder from the sizes that came: compilescope ladder RECORDING",
        severity="medium" if hits["eager"] else "low",
        subject="outside",
    )
    yield replace(
        with_cost(found, {"calls_outside": Amount(fallen, "counted", "calls by rung")}), executions=fallen
    )


def _unpaid(facts: Facts, graph: str, rungs: list[Mapping[str, Any]]) -> Iterator[Finding]:
    """Certain only where compiling the static rungs took longer than everything else together."""
    used = [r for r in rungs if r.get("kind") in ("pin", "pad") and r.get("hits") and r.get("compile_s")]
    spent = sum(float(r["compile_s"]) for r in used)
    wall, compiling = facts.report.recording.wall_s, facts.report.totals.compile_wall_s
    if not used or wall is None or compiling is None or spent <= (rest := max(wall - compiling, 0.0)):
        return
    found = _finding(
        facts,
        graph,
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
    graph: str,
    rule: str,
    fix_kind: str,
    summary: str,
    fix: str,
    *,
    severity: Severity,
    subject: str,
) -> Finding:
    row = next((g for g in facts.report.graphs if g.compile_id == graph), None)
    place = Place(row.file, row.line, row.function) if row else Place(None, None, graph)
    name = f"{place.function}()" if row else f"graph {graph}"
    telling = Telling(
        rule, fix_kind, f"{name}: {summary}", fix, subject, could_be_wrong=_COULD_BE_WRONG[rule]
    )
    return finding(facts, Cause(), place, telling, severity)


def _saving(found: Finding, spent_s: float) -> Finding:
    return with_saving(found, Saving(round(spent_s, 6), 0.0, "compiles of rungs without a call, measured"))


def _label(rung: Mapping[str, Any]) -> str:
    """As the ladder calls it, and so the tables of rungs: "<=16", "dynamic"."""
    return str(rung.get("rung") or _dims(rung))


def _dims(rung: Mapping[str, Any]) -> str:
    dims = rung.get("dims")
    return " x ".join(str(v) for v in dims.values()) if isinstance(dims, Mapping) else str(dims)


def _rows_of(rung: Mapping[str, Any]) -> int:
    dims = rung.get("dims")
    values = [v for v in dims.values() if isinstance(v, int)] if isinstance(dims, Mapping) else []
    product = 1
    for value in values:
        product *= value
    return product if values else 0
