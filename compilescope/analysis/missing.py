"""What could not be captured, and why: every null in the report has its entry here."""

from __future__ import annotations

from collections.abc import Sequence

from compilescope.analysis.attempts import Attempts
from compilescope.analysis.change import UNKNOWN_NEW
from compilescope.analysis.index import Index
from compilescope.analysis.report import Bucket, Failure, GraphBreak, Missing, Recompile, RecordingInfo
from compilescope.model import Process

_HOOK_FACTS = {
    "trace": "every compile-time fact",
    "graphs": "calls and sizes of compiled graphs",
    "conversions": "skipped frames, refused compiles and where they were called from",
    "entries": "the lines behind guards, and the lengths of dicts",
    "guard_failures": "all failing guards with their new values",
    "reset": "epochs after torch._dynamo.reset()",
    "stance": "torch.compiler.set_stance",
    "compile_calls": "where torch.compile was called",
    "eager_calls": "eager calls after a recompile limit",
}
UNATTRIBUTED = -1


NOT_ASKED = "not asked for: the report was built without details"


def of_process(process: Process) -> list[Missing]:
    """Hooks this torch lacks, records that were lost, counts that came to an early end."""
    found = [
        Missing(_HOOK_FACTS.get(name, name), state)
        for name, state in sorted(process.hooks.items())
        if state != "ok"
    ]
    found += [Missing(f"{n} records", why) for why, n in sorted(process.lost.items())]
    unattributed = process.eager_calls.get(UNATTRIBUTED, 0)
    if unattributed:
        reason = "several functions are over the limit and torch does not say which one a miss belongs to"
        found.append(Missing(f"function of {unattributed} eager calls", reason))
    if process.late:
        fact = "what was compiled, broke or hit a limit before capture began, and eager calls of the latter"
        found.append(Missing(fact, "capture was attached after something was compiled"))
    if process.kind == "recording" and not process.complete and process.graphs:
        found.append(
            Missing("the last calls", "the process did not end by itself: counts are as of the last snapshot")
        )
    return found


def of_recompiles(index: Index, attempts: Attempts) -> list[Missing]:
    """New values nobody wrote down, per source."""
    found: dict[str, Missing] = {}
    for attempt in attempts.all:
        for change in attempt.changes:
            if not change.new_known:
                fact = f"new value of {change.source} in {attempt.frame.function}()"
                found.setdefault(fact, Missing(fact, _why(index, change.old)))
            elif change.old is None and change.value_type not in (None, "none"):
                fact = f"old value of {change.source} in {attempt.frame.function}()"
                found.setdefault(fact, Missing(fact, "torch guards on the object's identity, not on a value"))
    return list(found.values())


def _why(index: Index, old: object) -> str:
    if old is None:
        return "torch says that it changed, not from what to what"
    if index.process.kind == "torch_trace":
        return UNKNOWN_NEW
    return "the guard could not be checked again without running the program's code"


def of_run(indexes: Sequence[Index], info: RecordingInfo, *, launched: bool) -> list[Missing]:
    found = []
    uncounted = next((i for i in indexes if any(g.calls is None for g in i.process.graphs)), None)
    if uncounted is not None:
        found.append(Missing("compiled_calls", uncounted.why_uncounted()))
    if any(i.process.detail is None for i in indexes):
        fact = "symbols, guards, phases, kernels and records of unknown kinds"
        found.append(Missing(fact, NOT_ASKED))
    if indexes and not launched:
        found.append(Missing("exit_status", "the program was not started by `compilescope run`"))
    elif launched and info.exit_status is None:
        found.append(Missing("exit_status", "nobody saw the program end"))
    return found


def of_lines(rows: Sequence[GraphBreak | Recompile | Failure]) -> list[Missing]:
    """Lines that are named without their text."""
    places = {(row.file, row.line) for row in rows if row.code is None and row.line is not None}
    if not places:
        return []
    fact = "code of " + ", ".join(f"{file}:{line}" for file, line in sorted(places, key=str)[:3])
    more = f" and {len(places) - 3} more lines" if len(places) > 3 else ""
    return [Missing(fact + more, "the text of that file is not in the recording")]


def of_buckets(buckets: Sequence[Bucket]) -> list[Missing]:
    """Nulls that many rungs share, once each. Of a refused rung no seconds and calls are missing."""
    uncounted = any(b.hits is None and b.refused is None and b.failed is None for b in buckets)
    unknown = any(b.kernels is None and b.compile_s is not None for b in buckets)
    reasons = {
        "hits of rungs": uncounted and "the process ended before its first snapshot of the counters",
        "kernels of rungs": unknown and "their compiler does not tell",
    }
    return [Missing(fact, reason) for fact, reason in reasons.items() if reason]
