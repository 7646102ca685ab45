"""Causes that show only in several rows at once: a growing cache, threads, ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from compilescope.advice.cause import Cause, Telling, finding, place_of_recompile
from compilescope.advice.classify import concatenates, grows_by_one, rule_of
from compilescope.advice.facts import Facts, Named, Rows
from compilescope.advice.finding import Finding
from compilescope.advice.recompiles import finding_of
from compilescope.advice.threads import in_another_thread, known_to_differ
from compilescope.analysis.paths import called
from compilescope.analysis.report import Recompile
from compilescope.analysis.wrappers import SEVERAL

_SIZES = frozenset(("size", "size_one"))
_MODES = frozenset(("grad_mode", "autocast", "dispatch_keys", "training_mode"))
_MAIN = "MainThread"
_POSITION_RULES = frozenset(("int_argument_variants", "optional_argument"))
Group = list[Named[Recompile]]


def cache_growth(facts: Facts, rows: Rows) -> Iterator[Finding]:
    """A tensor grows by one a call, and torch.cat (or a None at first) says it is a cache."""
    for group in _by_function(facts, rows):
        sizes = [n for n in group if n.row.kind in ("size", "size_one") and grows_by_one(n.row)]
        grown = [n for n in sizes if concatenates(facts.sources, n.row)]
        positions = [n for n in group if rule_of(facts, n.row) in _POSITION_RULES and _starts_or_steps(n.row)]
        if grown or (sizes and len(positions) > 1):
            found = finding_of(facts, rows, "kv_cache_growth", _in_order([*sizes, *positions]))
            rows = rows.without(found.refs)
            yield found


def compiled_while_waiting(facts: Facts, rows: Rows) -> Iterator[Finding]:
    """Torch found an entry that fits the call. One thread compiles at a time, and does not look for an entry
    again after its wait, though what it waited for may be what it needs.
    """
    for group in _by_function(facts, rows):
        own = [n for n in group if n.row.kind == "none_failed"]
        if not own:
            continue
        row = own[0].row
        threads = any(in_another_thread(facts, n.row) for n in own)
        what = "a thread compiled it again" if threads else "it compiled again"
        why = (
            "while it waited for another thread's compile, which fits its call too"
            if threads
            else "though every guard of an entry held when torch looked for the reason"
        )
        telling = Telling(
            rule="compiled_while_waiting",
            fix_kind="call_once_first",
            summary=f"{called(row.function)}: {what} {why}",
            fix="call it once for each kind of input before the threads start",
            subject="compiled_while_waiting",
            could_be_wrong="in a program of one thread it is a fault of torch: report it there",
            confidence="high" if threads else "low",
        )
        found = finding(facts, Cause(recompiles=tuple(own)), place_of_recompile(facts, row), telling, "low")
        rows = rows.without(found.refs)
        yield found


def shared_wrapper(facts: Facts, rows: Rows) -> Iterator[Finding]:
    """Functions under a decorator of torch's are one code object to Dynamo: the wrapper that it makes."""
    for group in _by_function(facts, rows):
        own = [n for n in group if n.row.source == SEVERAL]
        if not own:
            continue
        telling = Telling(
            rule="shared_wrapper",
            fix_kind="decorator_above_compile",
            summary="functions under a decorator of torch (as torch.no_grad) share one wrapper, and each of "
            "them compiles it again",
            fix="put the decorator above torch.compile, not below it, or use `with` inside the function",
            subject="shared_wrapper",
            could_be_wrong="few such functions cost a longer look-up on each call, and nothing else",
        )
        cause = Cause(recompiles=tuple(own), limits=rows.limits_of(own), failures=rows.refusals_of(own))
        found = finding(facts, cause, place_of_recompile(facts, own[0].row), telling, "medium")
        rows = rows.without(found.refs)
        yield found


def mixed_threads(facts: Facts, rows: Rows) -> Iterator[Finding]:
    """Mode or size recompiles in another thread than that of the first compile of the function."""
    for group in _by_function(facts, rows):
        own = [n for n in group if _is_of_threads(facts, n.row)]
        if own:
            names = ", ".join(
                sorted({n.row.thread for n in own if n.row.thread and known_to_differ(facts, n.row)})
            )
            note = f"they happened in thread {names}" if names else "several threads call it"
            found = finding_of(facts, rows, "thread_mixed_modes", own, notes=[note])
            found = _fitted(found, {n.row.kind for n in own})
            rows = rows.without(found.refs)
            yield found


def _is_of_threads(facts: Facts, row: Recompile) -> bool:
    """Modes are per thread, and all start alike: the main thread has another one only where it switches it,
    which is its own cause.
    """
    if row.kind in _MODES and row.thread == _MAIN:
        return False
    return row.kind in _SIZES | _MODES and in_another_thread(facts, row)


def _fitted(found: Finding, kinds: set[str]) -> Finding:
    """The rule's words, without the half that is not the case."""
    whose = found.summary.partition(": ")[0]
    if kinds <= _SIZES:
        summary = f"{whose}: threads share it with different sizes, and each compiles again"
        return replace(found, summary=summary, fix="mark_dynamic the dim whose size differs")
    if kinds <= _MODES:
        summary = f"{whose}: threads share it under different modes, and each compiles again"
        return replace(found, summary=summary, fix="use the same grad mode and autocast in every thread")
    return found


def diverging_ranks(facts: Facts, rows: Rows) -> Iterator[Finding]:
    """Ranks of one job that compiled the same function a different number of times because of sizes."""
    ranks = {p.id: p.rank for p in facts.report.processes if p.rank is not None}
    if len(set(ranks.values())) < 2:
        return
    for group in _by_function(facts, rows):
        sized = [n for n in group if n.row.kind in ("size", "size_one") and n.row.process in ranks]
        if not sized:
            continue
        made = _recompiles_by_rank(facts, sized[0].row, ranks)
        if len(set(made.values())) > 1:
            most, least = max(made.values()), min(made.values())
            slow = ", ".join(str(rank) for rank, n in sorted(made.items()) if n == most)
            note = f"rank {slow} recompiled {most} times, others {least}"
            found = finding_of(facts, rows, "rank_divergent_shapes", sized, notes=[note])
            rows = rows.without(found.refs)
            yield found


def _recompiles_by_rank(facts: Facts, row: Recompile, ranks: dict[str, int]) -> dict[int, int]:
    made: dict[int, int] = {}
    for frame in facts.report.frames:
        if frame.process in ranks and frame.function == row.function and frame.called_from == row.called_from:
            rank = ranks[frame.process]
            made[rank] = made.get(rank, 0) + frame.recompiles
    return made


def _by_function(facts: Facts, rows: Rows) -> list[Group]:
    groups: dict[tuple[str, str], Group] = defaultdict(list)
    for named in rows.recompiles:
        groups[facts.function_key(named.row.file, named.row.line, named.row.function)].append(named)
    return list(groups.values())


def _starts_or_steps(row: Recompile) -> bool:
    return row.kind == "value" and (grows_by_one(row) or any(old is None for old, _ in row.changes))


def _in_order(group: Group) -> Group:
    return sorted(group, key=lambda n: n.ref)
