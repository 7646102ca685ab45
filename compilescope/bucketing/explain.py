"""What a bucketed backend did, as a table: entry by rung."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from compilescope.bucketing.census import Census
from compilescope.observer import (
    DispatchCount,
    EntryCaptured,
    Event,
    GraphRecorded,
    GraphSkipped,
    RungCompiled,
    RungFailed,
    RungRefused,
)

FALLBACKS = ("dynamic", "eager")


@dataclass(frozen=True, slots=True)
class RungLine:
    """One rung of one entry. ``hits`` are the calls it served; ``event`` is all we know of its compile.

    ``graph`` is the latest about its CUDA graph, None where none was asked for.
    """

    event: RungCompiled | RungRefused | RungFailed
    hits: int
    graph: GraphRecorded | GraphSkipped | None = None


@dataclass(frozen=True, slots=True)
class EntryPart:
    """One captured graph. ``fallbacks`` maps 'dynamic' and 'eager' to calls; ``calls`` are all it served.

    ``pending`` are rungs that are not compiled yet.
    """

    captured: EntryCaptured
    rungs: tuple[RungLine, ...]
    calls: int
    fallbacks: tuple[tuple[str, int], ...]
    pending: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """``str()`` of it is the table. ``unadmitted`` are the rungs that no entry could have.

    ``warmed`` are the states that were warmed up, each with whether it has a graph; ``eager_calls`` the calls
    in each state that ran outside every graph.
    """

    entries: tuple[EntryPart, ...]
    unadmitted: tuple[str, ...]
    warmed: tuple[tuple[str, bool], ...] = ()
    eager_calls: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(
        cls,
        events: Iterable[Event],
        counts: Iterable[DispatchCount],
        pending: Mapping[int, Sequence[str]] | None = None,
        census: Census | None = None,
    ) -> Explanation:
        events = list(events)
        counts = list(counts)
        waiting = pending or {}
        census = census or Census()
        captured = [event for event in events if isinstance(event, EntryCaptured)]
        entries = tuple(_entry(each, events, counts, waiting.get(each.entry, ())) for each in captured)
        return cls(entries, _unadmitted(events), census.warmed(), census.eager_calls())

    def __str__(self) -> str:
        lines = [line for entry in self.entries for line in _entry_lines(entry)]
        if not lines:
            lines.append("nothing captured: the model was not called yet, or Dynamo runs it eagerly")
        if self.unadmitted:
            lines.append(f"no entry admits: {', '.join(self.unadmitted)}")
        return "\n".join([*lines, *self._state_lines()])

    def _state_lines(self) -> list[str]:
        lines = []
        prepared = [state for state, has_graph in self.warmed if has_graph]
        if prepared:
            lines.append(f"warmed up: {'; '.join(prepared)}")
        lines += [f"no graph after a warm-up: {state}" for state, has_graph in self.warmed if not has_graph]
        for state, calls in self.eager_calls:
            lines.append(
                f"{calls} {'call' if calls == 1 else 'calls'} ran eagerly outside every graph: {state}"
            )
        pending = sum(len(entry.pending) for entry in self.entries)
        if pending:
            rungs = "rung is" if pending == 1 else "rungs are"
            lines.append(
                f"{pending} {rungs} not compiled yet: warm_up compiles them, or goes on where it stopped"
            )
        return lines


def _entry(
    captured: EntryCaptured, events: list[Event], counts: list[DispatchCount], pending: Sequence[str]
) -> EntryPart:
    hits: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    for count in counts:
        if count.entry == captured.entry:
            hits[count.rung] += count.count
            outcomes[count.outcome] += count.count
    graphs = {
        event.rung: event
        for event in events
        if isinstance(event, (GraphRecorded, GraphSkipped)) and event.entry == captured.entry
    }
    rungs = tuple(
        RungLine(event, hits[event.rung], graphs.get(event.rung))
        for event in events
        if isinstance(event, (RungCompiled, RungRefused, RungFailed)) and event.entry == captured.entry
    )
    fallbacks = tuple((outcome, outcomes[outcome]) for outcome in FALLBACKS)
    return EntryPart(captured, rungs, outcomes.total(), fallbacks, tuple(pending))


def _unadmitted(events: list[Event]) -> tuple[str, ...]:
    refused = [event.rung for event in events if isinstance(event, RungRefused)]
    made = {event.rung for event in events if isinstance(event, RungCompiled)}
    return tuple(dict.fromkeys(rung for rung in refused if rung not in made))


_HEADER = ("rung", "kind", "sizes", "kernels", "compile s", "cache", "hits", "note")


def _entry_lines(entry: EntryPart) -> list[str]:
    captured = entry.captured
    where = _one_line(captured.location or "no source line")
    title = f"entry {captured.entry} [{captured.compile_id or '-'}] {captured.state}, {where}"
    if captured.bypassed is not None:
        return [
            title,
            f"  no rungs: {_one_line(captured.bypassed)}",
            f"  {entry.calls} calls, compiled as without a ladder",
            "",
        ]
    rows = [_HEADER, *(_row(line) for line in entry.rungs)]
    rows += [(label, "", "", "", "", "", "", "not compiled yet") for label in entry.pending]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    table = ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    served = ", ".join(f"{count} by {outcome}" for outcome, count in entry.fallbacks)
    return [title, *table, f"  {entry.calls} calls: {served}", ""]


def _row(line: RungLine) -> tuple[str, ...]:
    event = line.event
    if isinstance(event, RungCompiled):
        kernels = "?" if event.kernels is None else str(event.kernels)
        seconds = f"{event.wall_s:.2f}"
        return (
            event.rung,
            event.kind,
            _sizes(event),
            kernels,
            seconds,
            event.cache,
            str(line.hits),
            _note(event, line.graph),
        )
    if isinstance(event, RungFailed):
        return (
            event.rung,
            event.kind,
            "",
            "",
            f"{event.wall_s:.2f}",
            "",
            "",
            f"failed: {_one_line(event.error)}",
        )
    where = f" at {_one_line(event.user_line)}" if event.user_line else ""
    guard = f": {event.guard}" if event.guard else ""
    return (event.rung, event.kind, "", "", "", "", "", f"refused: {_one_line(event.reason)}{guard}{where}")


def _sizes(event: RungCompiled) -> str:
    return ", ".join(
        f"{name}={low}" if low == high else f"{name}={low}..{'' if high is None else high}"
        for name, low, high in event.sizes
    )


def _note(event: RungCompiled, graph: GraphRecorded | GraphSkipped | None) -> str:
    notes = []
    if event.same_code_as is not None:
        notes.append(f"same code as {event.same_code_as}")
    if event.split_from is not None:
        notes.append(f"part of {event.split_from}")
    if event.predicate:
        notes.append(f"only where {' and '.join(event.predicate)}")
    if event.random:
        notes.append(f"draws others than unpadded: {', '.join(event.random)}")
    if isinstance(graph, GraphRecorded):
        notes.append(_recorded(graph))
    elif graph is not None and event.kind in ("pin", "pad"):
        notes.append(f"no CUDA graph: {_one_line(graph.reason)}")
    return "; ".join(notes)


def _recorded(graph: GraphRecorded) -> str:
    if graph.of_backward:
        return "CUDA graphs of forward and backward"
    return "CUDA graph" if graph.graphs == 1 else f"{graph.graphs} CUDA graphs"


def _one_line(text: str) -> str:
    """Compilers put whatever they like into their errors; a terminal would obey it."""
    line = "".join(character if character.isprintable() else "?" for character in " ".join(text.split()))
    return line if len(line) <= 160 else line[:157] + "..."
