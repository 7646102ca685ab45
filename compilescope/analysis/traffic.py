"""The sizes a recording saw, per frame, for the ladder planner.

A frame's sizes are scattered over its cache entries: one entry is static and has a size as a constant,
another is symbolic and counts the values of its symbols. They are joined by what they guard: dimension d of
input x.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from compilescope.analysis.report import Frame, Graph, Report
from compilescope.analysis.size_expr import size_of, symbols_of
from compilescope.analysis.source_text import is_parameter, readable
from compilescope.ladder.planner import Traffic, TrafficError
from compilescope.units import visible

Dimension = tuple[str, int]  # source of a tensor input, and which dimension of it
Place = tuple[str, str, int, str]  # function, file, line, and the frame's number in compile ids
_Step = tuple[str, Mapping[str, int], Mapping[str, int]]

_OTHER = "other"
_MOST_LISTED = 8
_MOST_WITHOUT_TIME = 0.1  # share of the calls


@dataclass(frozen=True, slots=True)
class FrameTraffic:
    """``dims`` is what each symbol of the traffic is of: a tensor input of the graph, as torch names it.

    ``changing`` are all dimensions that changed, also those that always equal one of these. ``frame`` is its
    number in compile ids.
    """

    traffic: Traffic
    function: str
    file: str
    line: int
    frame: str
    dims: tuple[Dimension, ...]
    changing: tuple[Dimension, ...]

    def only(self, names: Sequence[str]) -> FrameTraffic:
        """The same calls, fewer symbols. Raises TrafficError for a name that is not there."""
        kept = self.traffic.only(names)
        places = [self.traffic.names.index(name) for name in names]
        return replace(self, traffic=kept, dims=tuple(self.dims[place] for place in places))


def traffic_from_report(report: Report) -> list[Traffic]:
    """The traffic alone of what :func:`frames_with_traffic` finds."""
    return [found.traffic for found in frames_with_traffic(report)]


def frames_with_traffic(report: Report) -> list[FrameTraffic]:
    """One for each frame that saw some input dimension change, most calls first.

    Symbols are named after the dimension, as ``x.size(0)``; dimensions that always are equal are one symbol.
    The order of time is that of the counter snapshots; a run with a single one has none. ``unseen`` counts
    calls whose sizes were not: calls that ran eagerly after the recompile limit, values beyond the cap of
    kept ones, and sizes that cannot be told from the counted ones.
    """
    groups: dict[Place, list[Graph]] = defaultdict(list)
    for graph in report.graphs:
        if not graph.backward:
            groups[(graph.function, graph.file, graph.line, frame_number(graph.compile_id))].append(graph)
    found = [_of_frame(report, place, graphs) for place, graphs in groups.items()]
    kept = [each for each in found if each is not None]
    return sorted(kept, key=lambda each: (-each.traffic.calls, each.traffic.label))


def traffic_of(report: Report, frame: str = "") -> Traffic:
    """The traffic alone of what :func:`frame_traffic_of` finds. Raises TrafficError as it does."""
    return frame_traffic_of(report, frame).traffic


def frame_traffic_of(report: Report, frame: str = "") -> FrameTraffic:
    """Of the frames whose function, file or line holds the text ``frame``, the one with most calls.

    Raises TrafficError when there is none; its hint lists the frames there are.
    """
    every = frames_with_traffic(report)
    found = [each for each in every if frame in each.traffic.label]
    if found:
        return found[0]
    if not every:
        raise TrafficError("no frame of this recording saw the size of an input change")
    labels = ", ".join(visible(each.traffic.label) for each in every[:_MOST_LISTED])
    raise TrafficError(f"no frame {frame!a} saw the size of an input change", hint=f"these did: {labels}")


def _of_frame(report: Report, place: Place, graphs: Sequence[Graph]) -> FrameTraffic | None:
    shapes = [_dimensions(graph) for graph in graphs]
    changing = _changing(shapes)
    rows: Counter[tuple[int, ...]] = Counter()
    unseen: int | None = _eager_calls(report, place)
    for graph, shape in zip(graphs, shapes, strict=True):
        for row, count in _rows(graph, [shape.get(dimension) for dimension in changing]):
            if count is None or row is None:
                unseen = None if count is None or unseen is None else unseen + count
            else:
                rows[row] += count
    dims, sizes = _independent(changing, list(rows), _tied(shapes, changing))
    if not dims:
        return None
    names = list(map(_name, dims))
    merged: Counter[tuple[int, ...]] = Counter()
    for row, count in zip(sizes, rows.values(), strict=True):
        merged[row] += count
    function, file, line, number = place
    traffic = _traffic(merged, names, _steps_of(report, place), f"{function} {file}:{line}", unseen)
    return FrameTraffic(traffic, function, file, line, number, tuple(dims), tuple(changing))


def _traffic(
    rows: Mapping[tuple[int, ...], int],
    names: Sequence[str],
    steps: Sequence[_Step],
    label: str,
    unseen: int | None,
) -> Traffic:
    timed = _in_time(steps, names, rows)
    if timed is None:
        counts = rows.values()
        return Traffic.of(list(rows), names=names, counts=counts, ordered=False, label=label, unseen=unseen)
    return Traffic.of(
        [row for _, row, _ in timed],
        names=names,
        counts=[count for _, _, count in timed],
        label=label,
        unseen=unseen,
        moments=[moment for moment, _, _ in timed],
    )


def _steps_of(report: Report, place: Place) -> list[_Step]:
    """(time, column by name, calls by sizes) of each interval, of all processes."""
    found = []
    for each in report.sizes or ():
        if (each.function, each.file, each.line, frame_number(each.compile_id)) == place:
            columns = {name: column for column, name in enumerate(each.names)}
            found += [(step.time or "", columns, step.counts) for step in each.steps]
    return sorted(found, key=lambda step: step[0])


def _in_time(
    steps: Sequence[_Step],
    names: Sequence[str],
    rows: Mapping[tuple[int, ...], int],
) -> list[tuple[int, tuple[int, ...], int]] | None:
    """(interval, sizes, calls) in order of time; None where the intervals do not tell it.

    ``rows`` are all calls: the few that are in no interval came after the last snapshot kept.
    """
    if len({time for time, _, _ in steps}) < 2:
        return None
    left = Counter(rows)
    timed: list[tuple[int, tuple[int, ...], int]] = []
    moments = {time: number for number, time in enumerate(sorted({time for time, _, _ in steps}))}
    for time, columns, counts in steps:
        if any(name not in columns for name in names):
            return None
        for label, count in counts.items():
            row = _of_label(label, [columns[name] for name in names])
            known = min(count, left[row]) if row is not None else 0
            if row is not None and known:
                left[row] -= known
                timed.append((moments[time], row, known))
    lost = +left
    if lost.total() > _MOST_WITHOUT_TIME * sum(rows.values()):
        return None
    return timed + [(len(moments), row, count) for row, count in sorted(lost.items())]


def _of_label(label: str, columns: Sequence[int]) -> tuple[int, ...] | None:
    parts = label.split("x")
    if not all(part.isdigit() for part in parts) or max(columns) >= len(parts):
        return None
    return tuple(int(parts[column]) for column in columns)


def frame_number(compile_id: str) -> str:
    """``3`` of ``3/1``: one code object within an epoch."""
    match = re.search(r"(\d+)/\d+", compile_id)
    return match.group(1) if match else compile_id


def _dimensions(graph: Graph) -> dict[Dimension, int | str]:
    """Sizes of the tensor inputs: numbers where static, else the symbol or expression as text."""
    return {
        (placeholder.source, number): size if isinstance(size, int) else str(size)
        for placeholder in graph.placeholders
        if placeholder.kind == "tensor" and placeholder.source and not is_parameter(placeholder.source)
        for number, size in enumerate(placeholder.shape or ())
    }


def _changing(shapes: Sequence[Mapping[Dimension, int | str]]) -> list[Dimension]:
    """Dimensions that are a symbol in some entry or differ between entries, in order of the inputs."""
    values: dict[Dimension, set[int | str]] = defaultdict(set)
    for shape in shapes:
        for dimension, size in shape.items():
            values[dimension].add(size)
    return [
        dimension
        for dimension, sizes in values.items()
        if len(sizes) > 1 or any(isinstance(size, str) for size in sizes)
    ]


def _rows(
    graph: Graph, sizes: Sequence[int | str | None]
) -> Iterator[tuple[tuple[int, ...] | None, int | None]]:
    """(sizes or None where unknown, calls or None where unknown) of one cache entry."""
    static = _evaluated(sizes, {})
    if static is not None:
        if graph.calls != 0:
            yield static, graph.calls
        return
    counted = 0
    for seen in graph.sizes_seen or ():
        counted += seen.count
        yield None if _OTHER in seen.values else _evaluated(sizes, seen.values), seen.count
    if graph.calls is None:
        if graph.sizes_seen is None:
            yield None, None
    elif graph.calls > counted:
        yield None, graph.calls - counted


def _evaluated(sizes: Sequence[int | str | None], values: Mapping[str, Any]) -> tuple[int, ...] | None:
    row = [size_of(size, values) for size in sizes]
    whole = [size for size in row if size is not None and size >= 1]
    return tuple(whole) if len(whole) == len(row) else None


def _tied(
    shapes: Sequence[Mapping[Dimension, int | str]], changing: Sequence[Dimension]
) -> Mapping[int, list[int]]:
    """Places of dimensions that tracing found to be an expression of others, and the places of those."""
    tied: dict[int, list[int]] = {}
    for shape in shapes:
        own = {shape.get(dimension): place for place, dimension in reversed(list(enumerate(changing)))}
        for place, dimension in enumerate(changing):
            size = shape.get(dimension)
            symbols = symbols_of(size)
            if size not in symbols and symbols and all(symbol in own for symbol in symbols):
                tied[place] = [own[symbol] for symbol in symbols]
    return tied


def _independent(
    changing: Sequence[Dimension], rows: Sequence[tuple[int, ...]], tied: Mapping[int, list[int]]
) -> tuple[list[Dimension], list[tuple[int, ...]]]:
    """Without those that never changed, that always equal an earlier one, that follow from others."""
    columns = list(zip(*rows, strict=True))
    kept = [
        place
        for place, column in enumerate(columns)
        if len(set(column)) > 1
        and column not in columns[:place]
        and not (place in tied and _follows(column, [columns[other] for other in tied[place]]))
    ]
    return [changing[place] for place in kept], [tuple(row[place] for place in kept) for row in rows]


def _follows(column: Sequence[int], others: Sequence[Sequence[int]]) -> bool:
    """Whether each combination of the others comes with one value only: also where it was no symbol."""
    keys = list(zip(*others, strict=True))
    return len(set(zip(keys, column, strict=True))) == len(set(keys))


def _name(dimension: Dimension) -> str:
    source, number = dimension
    return f"{readable(source).text}.size({number})"


def _eager_calls(report: Report, place: Place) -> int | None:
    """Calls of the frame that no compiled code served; None where a limit was hit and nobody counted."""
    frames = [frame for frame in report.frames if _is_of(frame, place)]
    known = [frame.eager_calls for frame in frames if frame.eager_calls is not None]
    limits = [hit for hit in report.limit_hits if (hit.function, hit.file, hit.line) == place[:3]]
    if limits and not known:
        counted = [hit.eager_calls for hit in limits if hit.eager_calls is not None]
        return sum(counted) if counted else None
    return sum(known)


def _is_of(frame: Frame, place: Place) -> bool:
    same = (frame.function, frame.file, frame.line) == place[:3]
    return same and any(frame_number(compile_id) == place[3] for compile_id in frame.compile_ids)
