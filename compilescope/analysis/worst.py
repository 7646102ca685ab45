"""Facts ranked by what they cost, until there are rules: limit hits, breaks, failures, recompiles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from compilescope.analysis.paths import called
from compilescope.analysis.ranks import (
    merged_breaks,
    merged_failures,
    merged_limits,
    merged_recompiles,
    processes_of,
    spread,
    where,
)
from compilescope.analysis.report import Failure, GraphBreak, LimitHit, Recompile, Worst
from compilescope.units import count, seconds

_MAX_STEPS = 3
_MAX_CAUSES = 4  # of one limit hit; all are in the recompiles
_KINDS = {
    "size": "a size changes",
    "size_one": "a size becomes 0 or 1",
    "stride": "a memory layout changes",
    "rank": "the number of dims changes",
    "dtype": "a dtype changes",
    "device": "a device changes",
    "requires_grad": "requires_grad changes",
    "dispatch_keys": "a tensor is used in another mode",
    "type": "a type changes",
    "identity": "another object is passed",
    "code": "another function is passed",
    "dict_keys": "the keys of a dict change",
    "grad_mode": "grad mode is switched",
    "autocast": "autocast is switched",
    "training_mode": "train() and eval() alternate",
    "backend": "it is compiled with another backend",
    "symbolic_guard": "a branch on a changing number goes the other way",
    "duck_shape": "two sizes are no longer equal",
    "constraint": "a dynamic mark differs",
    "alignment": "an offset or alignment changes",
    "none_failed": "no guard failed when torch looked for the reason",
    "unknown": "something differs that torch tells in words not known here",
}
_HOLDERS = {
    "argument": "a Python {type} argument changes",
    "module_attribute": "a Python {type} on the module changes",
    "object_attribute": "a Python {type} on an object changes",
    "closure": "a captured {type} changes",
    "global": "a global {type} changes",
    "container_item": "a Python {type} in a container changes",
    "resume_value": "a Python {type} from a graph break changes",
}
# Whose values say nothing without their name: "x 1 -> 2" may be anything.
_PROPERTY = {"rank": ".ndim", "requires_grad": ".requires_grad", "device": ".device"}
_TYPE_WORDS = {"str": "string", "bool": "flag", "none": "value", None: "value"}


def worst(
    limits: Sequence[LimitHit],
    breaks: Sequence[GraphBreak],
    failures: Sequence[Failure],
    recompiles: Sequence[Recompile],
) -> list[Worst]:
    """Failures first (nothing of the function is compiled), then limit hits with their causes, breaks by
    executions, recompiles by seconds. By-products of a break stand under the break, not beside it.
    """
    breaks = merged_breaks(breaks)
    together = merged_recompiles(recompiles)
    causes: dict[str, list[Recompile]] = defaultdict(list)
    for cause in together:
        if cause.blocked_by_limit and not cause.benign:
            causes[cause.function].append(cause)
    rows = [_failure(f) for f in merged_failures(failures)]
    for limit in merged_limits(limits):
        on = set(processes_of(limit))
        own = [cause for cause in causes[limit.function] if on & set(processes_of(cause))]
        rows += _limit(limit, own, _each(limit, limits))
    rows += [_break(b, recompiles) for b in sorted(breaks, key=_break_rank) if not b.library]
    shown_breaks = {f"{b.file}:{b.line}" for b in breaks if not b.library}
    rest = [r for r in together if (r.benign or not r.blocked_by_limit) and r.caused_by not in shown_breaks]
    rows += [_recompile(r) for r in sorted(rest, key=lambda r: (r.benign, -(r.wasted_compile_s or 0.0)))]
    return rows + [_break(b, recompiles) for b in breaks if b.library]


def _each(merged: LimitHit, limits: Sequence[LimitHit]) -> str | None:
    """Where it happened, and how often on each."""
    place = where(merged.process)
    if place is None:
        return None
    same = [limit for limit in limits if (limit.function, limit.file, limit.line) == _place(merged)]
    counts = spread(limit.eager_calls for limit in same)
    return f"{place}: {counts} eager calls" if counts else place


def _place(limit: LimitHit) -> tuple[str, str, int]:
    return limit.function, limit.file, limit.line


def because(recompile: Recompile) -> str:
    """ "a list grows", "a Python int argument changes"."""
    if recompile.kind == "container_length":
        return _length(recompile)
    if recompile.kind == "value" and recompile.value_type == "none":
        return f"{recompile.source} is None in some calls only"
    if recompile.kind == "value":
        word = _TYPE_WORDS.get(recompile.value_type, recompile.value_type)
        return _HOLDERS.get(recompile.holder or "", "a Python {type} changes").format(type=word)
    return _KINDS.get(recompile.kind, f"{recompile.source} changes")


def steps(changes: Sequence[tuple[Any, Any]], *, quoted: bool = False) -> str:
    """[(0, 1), (1, 2), .., (7, 8)] as "0 -> 1 -> ... -> 8"; values that do not chain as pairs. ``quoted``:
    text among them is a string of the program, not a dtype or a name.
    """
    if not changes:
        return ""
    values = [show(value, quoted=quoted) for value in (changes[0][0], *(new for _, new in changes))]
    if not (all(a[1] == b[0] for a, b in pairwise(changes)) or always_new(changes)):
        told = (f"{show(old, quoted=quoted)} -> {show(new, quoted=quoted)}" for old, new in changes)
        pairs = list(dict.fromkeys(told))
        if len(pairs) == 1:
            return f"{pairs[0]} ({len(changes)} times)"
        return _listed(pairs)
    if len(values) > _MAX_STEPS + 1:
        return f"{values[0]} -> {values[1]} -> ... -> {values[-1]}"
    return " -> ".join(values)


def _listed(items: Sequence[str], total: int | None = None) -> str:
    left = (total or len(items)) - len(items[:_MAX_STEPS])
    return ", ".join(items[:_MAX_STEPS]) + (f" and {left:,} more" if left > 0 else "")


def always_new(changes: Sequence[Sequence[Any]]) -> bool:
    """Each value comes for the first time, in place of one that came before: they are the values in order."""
    met = [changes[0][0]]
    for old, new in changes:
        if old not in met or new in met:
            return False
        met.append(new)
    return True


def show(value: Any, *, quoted: bool = False) -> str:
    if value is None:
        return "?"
    if isinstance(value, float):
        return f"{value:.6g}"
    bare = not quoted and str(value).replace("_", "").isalnum()
    return repr(value) if isinstance(value, str) and not bare else str(value)


def _limit(limit: LimitHit, causes: Sequence[Recompile], each: str | None) -> list[Worst]:
    own = sorted(causes, key=lambda r: (-r.count, -r.named_by_torch))
    if not own:
        title = f"{called(limit.function)} hit the recompile limit"
        return [
            Worst(
                "limit_hit",
                title,
                limit.file,
                limit.line,
                limit.function,
                None,
                None,
                _eager(limit),
                each,
                limit.called_from,
            )
        ]
    rows = []
    for rank, cause in enumerate(own[:_MAX_CAUSES]):
        ordinal = ("second", "third", "fourth")[min(rank - 1, 2)] if rank else ""
        title = (
            f"{called(limit.function)} recompiles because {because(cause)}"
            if not rank
            else (f"same function, {ordinal} cause: {because(cause)}")
        )
        cost = f"{_wasted(cause)}, {_eager(limit)}, and later calls that fit no graph" if not rank else None
        left = len(own) - _MAX_CAUSES
        more = f"{left} more causes are in the recompiles" if left > 0 else None
        notes = [_note(own, limit), each] if not rank else [more] if rank == _MAX_CAUSES - 1 else []
        note = "; ".join(filter(None, notes)) or None
        rows.append(
            Worst(
                "limit_hit",
                title,
                cause.file,
                cause.line,
                limit.function,
                cause.code,
                detail(cause),
                cost,
                note,
                limit.called_from,
            )
        )
    return rows


def _note(own: Sequence[Recompile], limit: LimitHit) -> str | None:
    """Torch names one guard per entry; here is what it leaves unsaid."""
    if len(own) < 2:
        return None
    head, other = own[0], own[1]
    blamed = limit.last_cause.source if limit.last_cause else None
    last_named = next((r for r in own if r.source == blamed), None)
    total = head.count + head.blocked_by_limit
    seen = other.count + other.blocked_by_limit
    if last_named is not None and last_named is not head:
        named = last_named.count + last_named.blocked_by_limit
        return (
            f"torch's own warning blames {last_named.source}: it changed {times(named)}, {head.source} "
            f"{times(total)}; fixing {last_named.source} alone will not help"
        )
    return f"{other.source} changed too ({times(seen)}): fixing {head.source} alone will not help"


def _break(row: GraphBreak, recompiles: Sequence[Recompile]) -> Worst:
    place = f"{row.file}:{row.line}"
    caused = [r for r in recompiles if r.caused_by == place]
    cost = [f"ran {ran(row)} (counted)" if row.runtime_hits is not None else "run-time hits unknown"]
    made, wasted = _together(caused)
    if made:
        cost.append(f"{count(made, 'recompile')} because of it, {seconds(wasted)} (measured)")
    effect = {
        "frame_skipped": "the whole function runs eager",
        "tail_skipped": "the rest of the function runs eager",
    }
    lost = [effect[r] for r in row.resume if r in effect]
    title = f"graph break in {called(row.function)}: {row.reason}"
    note = "; ".join(filter(None, [*lost, where(row.process)])) or None
    if row.library:
        note = "inside a library, not your code" + (f"; {note}" if note else "")
    caller = row.call_path[-2] if len(row.call_path) > 1 else None
    return Worst(
        "graph_break",
        title,
        row.file,
        row.line,
        row.function,
        row.code,
        row.gb_types[0] if row.gb_types else None,
        ", ".join(cost),
        note,
        caller,
    )


def _together(rows: Sequence[Recompile]) -> tuple[int, float]:
    """Recompiles of several causes and their seconds; one that has two causes counts once."""
    ids: set[tuple[str, str]] = set()
    spent = 0.0
    for row in sorted(rows, key=lambda r: -r.count):
        own = {(row.process, compile_id) for compile_id in row.compile_ids[: row.count]}
        if not own & ids:
            spent += row.wasted_compile_s or 0.0
        ids |= own
    return len(ids), spent


def _recompile(row: Recompile) -> Worst:
    title = f"{called(row.function)} recompiles because {because(row)}"
    note = "happens once, then both versions are kept: nothing to do" if row.benign else None
    if not row.benign and row.also_failed:
        total = max(row.also_failed_count, len(row.also_failed))
        note = "changed with it: " + _listed([c.source for c in row.also_failed], total)
    note = "; ".join(filter(None, [note, where(row.process)])) or None
    return Worst(
        "recompile",
        title,
        row.file,
        row.line,
        row.function,
        row.code,
        detail(row),
        _wasted(row),
        note,
        row.called_from,
    )


def detail(row: Recompile) -> str:
    changes = [*row.changes, *row.blocked_changes]
    if row.kind == "symbolic_guard" and changes and isinstance(changes[0][0], str):
        old, new = changes[0]
        more = f", {len(changes)} times in all" if len(changes) > 1 else ""
        return f"{old} -> {new}{more}" if isinstance(new, str) else f"{old} fails for {new}{more}"
    if row.kind == "none_failed":
        return f"every guard held when torch looked for the reason, {times(len(changes))}"
    if row.value_type == "none":
        changes = [("None" if a is None else a, "None" if b is None else b) for a, b in changes]
    text = (
        f"{row.source}{_PROPERTY.get(row.kind, '')} {steps(changes, quoted=row.value_type == 'str')}".rstrip()
    )
    return f"{text} ({row.meaning})" if row.meaning and row.kind != "container_length" else text


def _failure(row: Failure) -> Worst:
    how = "was suppressed: it runs eager" if row.suppressed else "stopped the call"
    title = f"compiling {called(row.function)} failed: {row.exception}"
    return Worst(
        "failure",
        title,
        row.file,
        row.line,
        row.function,
        row.code,
        row.message,
        f"the error {how}",
        where(row.process),
    )


def _break_rank(row: GraphBreak) -> tuple[int, int]:
    return (-(row.runtime_hits or 0), -row.events)


def _wasted(row: Recompile) -> str:
    return f"{seconds(row.wasted_compile_s)} in {count(row.count, 'recompile')} (measured)"


def _eager(limit: LimitHit) -> str:
    return count(limit.eager_calls, "eager call")


def ran(row: GraphBreak) -> str:
    """ "13 times", "at least once"."""
    return f"{'at least ' if row.ran_at_least else ''}{times(row.runtime_hits)}"


def times(n: int | None) -> str:
    return {1: "once", 2: "twice"}.get(
        n or 0, f"{n:,} times" if n is not None else "an unknown number of times"
    )


def _length(row: Recompile) -> str:
    changes = [*row.changes, *row.blocked_changes]
    values = [v for v in (*(old for old, _ in changes[:1]), *(new for _, new in changes)) if type(v) is int]
    noun = f"a {row.meaning or 'container'}"
    if values and all(b >= a for a, b in pairwise(values)):
        return f"{noun} grows"
    return f"the length of {noun} changes"
