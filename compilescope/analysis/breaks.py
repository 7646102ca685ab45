"""Graph breaks: one row per line of code, however often torch logged it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from compilescope.analysis.break_causes import causes, plain_reason
from compilescope.analysis.hits import HitCounter
from compilescope.analysis.index import Break, Index, original_name
from compilescope.analysis.report import GraphBreak, Missing

_STARTERS = ("/runpy.py", "<frozen runpy>")


def graph_breaks(index: Index) -> tuple[list[GraphBreak], list[Missing]]:
    """Rows, and why a run-time count is missing where it is."""
    sites: dict[tuple[str, int], list[Break]] = defaultdict(list)
    for item in index.breaks:
        sites[(item.text.file or "?", item.text.line)].append(item)
    counter, rows, missing = HitCounter(index), [], []
    for events in sites.values():
        row = _row(index, counter, events)
        rows.append(row)
        if row.runtime_hits is None:
            missing.append(
                Missing(f"runtime_hits of {row.file}:{row.line}", row.runtime_hits_basis or "unknown")
            )
    return sorted(rows, key=lambda r: (r.library, -(r.runtime_hits or 0), -r.events, r.file, r.line)), missing


def _row(index: Index, counter: HitCounter, events: Sequence[Break]) -> GraphBreak:
    first = events[0].text
    file, line = first.file or "?", first.line
    hits = counter.count(events)
    texts = list({id(e.text): e.text for e in events}.values())
    longest = max(texts, key=lambda t: len(t.stack))
    function = next((f for p, n, f in reversed(first.stack) if (p, n) == (file, line)), None)
    return GraphBreak(
        file=index.paths.show(file),
        line=line,
        function=original_name(function)[0] if function else "?",
        code=index.source_line(file, line),
        causes=_ordered(slug for text in texts for slug in causes(text)),
        gb_types=_ordered(text.gb_type for text in texts),
        gb_ids=_ordered(text.gb_id for text in texts if text.gb_id),
        reason=plain_reason(first),
        hint=first.hint,
        events=len(events),
        runtime_hits=hits.count,
        resume=_ordered(text.outcome for text in texts),
        call_path=call_path(index, longest.stack),
        compile_ids=_ordered(str(e.event.compile) for e in events if e.event.compile),
        process=index.process.id,
        library=index.paths.is_library(file),
        runtime_hits_basis=hits.basis,
        warm_up=hits.count == 0 and all(_in_warm_up(index, event) for event in events),
    )


def _in_warm_up(index: Index, event: Break) -> bool:
    compiled = index.process.compiles.get(event.event.compile) if event.event.compile else None
    return compiled is not None and index.in_warm_up(compiled)


def call_path(index: Index, stack: Iterable[tuple[str, int, str]]) -> list[str]:
    """ "f.py:15 forward" from the program's first line to the broken one, torch's frames left out."""
    return [
        f"{index.paths.at(file, line)} {original_name(function)[0]}"
        for file, line, function in stack
        if not index.paths.is_torch(file) and not file.endswith(_STARTERS)
    ]


def _ordered(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))
