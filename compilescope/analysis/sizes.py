"""The sizes each function was called with, joined over all its cache entries, and in order of snapshots.

One entry is static and has a size as a constant: constant times calls. Another is symbolic: the counted
values of its symbols. Both are named by what they are of: dimension d of input x.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from compilescope.analysis import lengths
from compilescope.analysis.index import FrameGroup, Index
from compilescope.analysis.lengths import few
from compilescope.analysis.report_run import CallTime, FrameSizes, SizeRow, SizeStep
from compilescope.analysis.served import Artifact, Served
from compilescope.analysis.size_expr import size_of
from compilescope.analysis.source_text import is_parameter, readable
from compilescope.model import Graph

MAX_STEPS = 200
MAX_STEP_ROWS = 20_000
UNTOLD = "other"
_Dimension = tuple[str, int]


def sizes(index: Index) -> list[FrameSizes]:
    """Functions of which some input dimension changed, most calls first."""
    snapshots = _snapshots(index)
    found = (_of_frame(index, frame, snapshots) for frame in index.frames.values())
    return sorted((row for row in found if row is not None), key=lambda row: -row.seen_calls)


def _of_frame(
    index: Index, frame: FrameGroup, snapshots: Mapping[int, Sequence[tuple[int, Mapping[str, int]]]]
) -> FrameSizes | None:
    graphs = [g for c in frame.compiles for g in index.graphs_of.get(c.id, ())]
    changing = _changing(graphs)
    if not changing:
        return None
    rows: dict[tuple[tuple[int, ...], str], int] = Counter()
    unseen: int | None = _eager(index, frame)
    for graph in graphs:
        for row, basis, count in _rows(graph, changing):
            if count is None or row is None:
                unseen = None if count is None or unseen is None else unseen + count
            elif count:
                rows[(row, basis)] += count
    names = [f"{readable(source).text}.size({number})" for source, number in changing]
    ordered = sorted(rows.items(), key=lambda item: (-item[1], item[0]))
    seen = sum(rows.values())
    place = index.blamed(frame)
    more: dict[str, int] = {}
    return FrameSizes(
        place.function,
        index.paths.show(place.file),
        place.line,
        index.process.id,
        names,
        [
            SizeRow(dict(zip(names, row, strict=True)), count, basis)
            for (row, basis), count in few(ordered, lengths.SIZES, "rows", more)
        ],
        len({row for row, _ in rows}),
        seen,
        unseen,
        round(unseen / (seen + unseen), 6) if unseen is not None and seen + unseen else None,
        _steps(graphs, changing, snapshots),
        str(frame.compiles[0].id),
        few(_times(index, graphs, changing, names), lengths.SIZES, "times", more),
        more,
    )


def _changing(graphs: Iterable[Graph]) -> list[_Dimension]:
    """Dimensions that are a symbol in some entry or differ between entries; equal ones only once."""
    values: dict[_Dimension, list[object]] = defaultdict(list)
    for graph in graphs:
        for placeholder in graph.placeholders:
            source = placeholder.source
            if placeholder.kind == "tensor" and source and not is_parameter(source):
                for number, size in enumerate(placeholder.shape or ()):
                    values[(source, number)].append(size)
    changing = {
        dimension: tuple(found)
        for dimension, found in values.items()
        if len(set(map(str, found))) > 1 or any(isinstance(size, str) for size in found)
    }
    kept: dict[tuple[object, ...], _Dimension] = {}
    for dimension, column in changing.items():
        kept.setdefault(column, dimension)
    return list(kept.values())


def _rows(
    graph: Graph, changing: Sequence[_Dimension]
) -> Iterable[tuple[tuple[int, ...] | None, str, int | None]]:
    """(sizes or None where unknown, basis, calls or None where unknown)."""
    shape = _shape(graph, changing)
    static = _evaluated(shape, {})
    if static is not None:
        yield static, "static", graph.calls
        return
    counted = 0
    for values, count in graph.sizes or ():
        counted += count
        yield (None if values is None else _evaluated(shape, _named(graph, values))), "counted", count
    if graph.calls is None or graph.calls > counted:
        yield None, "counted", None if graph.calls is None else graph.calls - counted


def _shape(graph: Graph, changing: Sequence[_Dimension]) -> list[object]:
    known = {
        (p.source, number): size
        for p in graph.placeholders
        if p.kind == "tensor"
        for number, size in enumerate(p.shape or ())
    }
    return [known.get(dimension) for dimension in changing]


def _named(graph: Graph, values: Sequence[int]) -> dict[str, int]:
    symbols = {p.name: p.expr or p.name for p in graph.placeholders}
    return dict(zip((symbols.get(name, name) for name in graph.size_names), values, strict=False))


def _evaluated(shape: Sequence[object], values: Mapping[str, int]) -> tuple[int, ...] | None:
    row = [size_of(size, values) for size in shape]
    whole = [size for size in row if size is not None]
    return tuple(whole) if len(whole) == len(row) else None


def _eager(index: Index, frame: FrameGroup) -> int | None:
    if not any(c.refused for c in frame.compiles):
        return 0
    return index.process.eager_calls.get(frame.serial) if frame.serial is not None else None


def _snapshots(index: Index) -> Mapping[int, list[tuple[int, Mapping[str, int]]]]:
    found: dict[int, list[tuple[int, Mapping[str, int]]]] = defaultdict(list)
    for snapshot in index.process.detail.snapshots if index.process.detail else ():
        if snapshot.time_ns is not None:
            found[snapshot.serial].append((snapshot.time_ns, snapshot.counts))
    return found


def _steps(
    graphs: Iterable[Graph],
    changing: Sequence[_Dimension],
    snapshots: Mapping[int, Sequence[tuple[int, Mapping[str, int]]]],
) -> list[SizeStep]:
    """Differences of cumulative snapshots, of static entries too."""
    steps: dict[int, Counter[str]] = defaultdict(Counter)
    for graph in graphs:
        taken = snapshots.get(graph.serial, ()) if graph.serial is not None else ()
        shape = _shape(graph, changing)
        nothing: tuple[int, Mapping[str, int]] = (0, {})
        for (_, before), (time_ns, after) in pairwise([nothing, *taken]):
            for key, count in after.items():
                new = count - before.get(key, 0)
                if new > 0:
                    steps[time_ns][_label(graph, shape, key)] += new
    return [SizeStep(_iso(time_ns), dict(counts)) for time_ns, counts in _merged(sorted(steps.items()))]


def _merged(steps: list[tuple[int, Counter[str]]]) -> list[tuple[int, Counter[str]]]:
    """Neighbors together until there are few enough: no call is lost, only when exactly it was."""
    while len(steps) > MAX_STEPS or (len(steps) > 1 and sum(len(each) for _, each in steps) > MAX_STEP_ROWS):
        ends = [steps[min(first + 1, len(steps) - 1)][0] for first in range(0, len(steps), 2)]
        parts = [steps[first : first + 2] for first in range(0, len(steps), 2)]
        steps = [
            (end, sum((counts for _, counts in part), Counter()))
            for end, part in zip(ends, parts, strict=True)
        ]
    return steps


def _times(
    index: Index, graphs: Iterable[Graph], changing: Sequence[_Dimension], names: Sequence[str]
) -> list[CallTime]:
    """Of the calls that were timed, ascending by size; nothing unless the user asked for times."""
    timed = index.process.detail.call_times if index.process.detail else {}
    served = Served(index)
    found = []
    for graph in graphs:
        shape = _shape(graph, changing)
        for key, (count, median_us) in (
            timed.get(graph.serial, {}).items() if graph.serial is not None else ()
        ):
            row, artifact = _row_of(graph, shape, key), _artifact(served, graph, shape, key)
            if row is not None and artifact is not None:
                values, symbols = _named(graph, _values(key) or ()), artifact.sizes
                padded = _evaluated(shape, values | dict(symbols)) if symbols else None
                found.append(
                    CallTime(
                        dict(zip(names, row, strict=True)),
                        artifact.kind,
                        count,
                        median_us,
                        dict(zip(names, padded, strict=True)) if padded is not None else None,
                    )
                )
    return sorted(found, key=lambda each: (each.artifact, tuple(each.values.values())))


def _artifact(served: Served, graph: Graph, shape: Sequence[object], key: str) -> Artifact | None:
    if _evaluated(shape, {}) is not None:
        return Artifact("static")
    if not served.by_ladder(graph):
        return Artifact("dynamic")
    values = _values(key)
    return served.artifact(graph, _named(graph, values)) if values is not None else None


def _label(graph: Graph, shape: Sequence[object], key: str) -> str:
    """A key that is no sizes, where they cannot be told."""
    row = _row_of(graph, shape, key)
    return "x".join(map(str, row)) if row is not None else UNTOLD


def _row_of(graph: Graph, shape: Sequence[object], key: str) -> tuple[int, ...] | None:
    values = _values(key)
    return None if values is None else _evaluated(shape, _named(graph, values))


def _values(key: str) -> list[int] | None:
    try:
        return [int(part) for part in key.split(",") if key]
    except ValueError:
        return None


def _iso(ns: int) -> str | None:
    try:
        return datetime.fromtimestamp(ns * 1e-9, UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):  # a damaged record: no such year
        return None
