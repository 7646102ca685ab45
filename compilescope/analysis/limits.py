"""Recompile limits: which functions run without torch.compile since, and how many calls that was."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable

from compilescope.analysis.attempts import Attempt, Attempts
from compilescope.analysis.index import FrameGroup, FrameKey, Index, original_name
from compilescope.analysis.report import GuardChange, LimitHit, Missing
from compilescope.model import Graph

_SET_TO = re.compile(r"currently set to (\d+)")


def limit_hits(index: Index, attempts: Attempts) -> tuple[list[LimitHit], list[Missing]]:
    refused: dict[FrameKey, list[Attempt]] = defaultdict(list)
    for attempt in attempts.all:
        if attempt.refused:
            refused[attempt.frame.key].append(attempt)
    rows = [_row(index, found[0].frame, found) for found in refused.values()]
    rows += _inherited(index, {found[0].frame.serial for found in refused.values()})
    missing = [fact for row in rows for fact in _missing(index, row)]
    return sorted(rows, key=lambda r: (-(r.eager_calls or 0), r.file, r.line)), missing


def _row(index: Index, frame: FrameGroup, refused: Iterable[Attempt]) -> LimitHit:
    attempts = list(refused)
    place = index.blamed(frame)
    eager = eager_calls(index, frame)
    compiled = compiled_calls(index, frame)
    caller = next((p for a in attempts if (p := index.user_call(a.compile.call))), None)
    return LimitHit(
        function=place.function,
        file=index.paths.show(place.file),
        line=place.line,
        limit=_limit(index, frame),
        last_cause=_last_cause(attempts),
        eager_calls=eager,
        total_calls=None if eager is None or compiled is None else eager + compiled,
        process=index.process.id,
        called_from=index.name_place(caller) if caller else index.called_from(frame),
    )


def _inherited(index: Index, known: Collection[int | None]) -> list[LimitHit]:
    """Limits hit before a fork: this process only has the calls that ran eager since."""
    rows = []
    for limit in index.process.limits:
        eager = index.process.eager_calls.get(limit.code_serial) if limit.code_serial is not None else None
        if limit.code_serial in known or not eager:
            continue
        graphs = [g for g in index.process.graphs if g.inherited and _serial(index, g) == limit.code_serial]
        counts = [g.calls for g in graphs if g.calls is not None]
        rows.append(
            LimitHit(
                function=original_name(limit.code.function)[0],
                file=index.paths.show(limit.code.file),
                line=limit.code.line,
                limit=limit.limit,
                last_cause=None,
                eager_calls=eager,
                total_calls=eager + sum(counts) if len(counts) == len(graphs) else None,
                process=index.process.id,
            )
        )
    return rows


def _serial(index: Index, graph: Graph) -> int | None:
    frame = index.frame_of_graph(graph)
    return frame.serial if frame else None


def eager_calls(index: Index, frame: FrameGroup) -> int | None:
    """Calls that ran eager since the limit was hit, the refused one included. None: not counted."""
    if any(c.fail_type == "FailOnRecompileLimitHit" for c in frame.compiles):
        return 0  # fullgraph=True: the call raises instead
    if frame.serial is None:
        return None
    return index.process.eager_calls.get(frame.serial)


def compiled_calls(index: Index, frame: FrameGroup) -> int | None:
    """Calls that ran compiled code; None when a compile of the function has no counted graph."""
    counts = [index.calls_of(c.id) for c in frame.compiles if c.compiled or c.earlier]
    known = [count for count in counts if count is not None]
    return sum(known) if counts and len(known) == len(counts) else None


def _limit(index: Index, frame: FrameGroup) -> int | None:
    for limit in index.process.limits:
        same = limit.code_serial == frame.serial if frame.serial is not None else limit.code == frame.code
        if same and limit.limit is not None:
            return limit.limit
    stated = (_SET_TO.search(c.fail_reason or "") for c in frame.compiles if c.refused)
    return next((int(match[1]) for match in stated if match), None)


def _last_cause(attempts: Iterable[Attempt]) -> GuardChange | None:
    """What torch's own message blames for the refused call; every cause is in the recompiles."""
    for attempt in attempts:
        for change in sorted((*attempt.changes, *attempt.accepted), key=lambda c: c.subject != attempt.named):
            return GuardChange(change.source, change.old, change.new, change.kind)
    return None


def _missing(index: Index, row: LimitHit) -> list[Missing]:
    found = []
    where = f"{row.function}() {row.file}:{row.line}"
    if row.eager_calls is None:
        found.append(Missing(f"eager_calls of {where}", index.why_uncounted_eager()))
    if row.total_calls is None:
        found.append(
            Missing(f"total_calls of {where}", "a compile of it has no graph whose calls could be counted")
        )
    if row.limit is None:
        found.append(Missing(f"limit of {where}", "the limit in force was not recorded"))
    return found
