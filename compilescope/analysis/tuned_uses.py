"""At which sizes an autotuned operation really ran, beside the size it was timed at."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from compilescope.analysis import lengths
from compilescope.analysis.lengths import few
from compilescope.analysis.report import Autotuning, Graph
from compilescope.analysis.report_run import Bucket
from compilescope.analysis.report_tuned import TunedRow, TunedUse
from compilescope.model.inductor.sizes import size

FAR = 4.0  # times larger or smaller than the size a choice was timed at
NEAR = 1.5  # another row timed within this of a size stands for it
_SYMBOL = re.compile(r"[su]\d+")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Timed:
    """A row and all candidates behind it."""

    row: TunedRow
    found: Autotuning

    @property
    def choice(self) -> str | None:
        """What the winner is across compiles: names of Triton candidates are numbered anew in each."""
        best = self.found.choices[0] if self.found.winner and self.found.choices else None
        return (best.config or best.name) if best is not None else None

    @property
    def times(self) -> Mapping[str, float]:
        return {(c.config or c.name): c.time_ms for c in self.found.choices if c.time_ms is not None}


def used(timed: Timed, graph: Graph, rungs: Sequence[Bucket], others: Sequence[Timed]) -> TunedRow:
    """The row with its calls: those of its rung, of its static graph, or by size of a dynamic one."""
    row = timed.row
    symbols = sorted({s for shape in row.shapes for s in _SYMBOL.findall(shape)})
    if rungs:
        named = [rung for rung in rungs if rung.rung == timed.found.rung]
        rung = named[0] if named else _rung(row, rungs, symbols)
        if rung is None:
            return row
        row = replace(row, rung=rung.rung, calls=rung.hits)
        counts: Iterable[tuple[Mapping[str, int], int]] = (
            (dict(zip(symbols, s.values.values(), strict=False)), s.count) for s in rung.sizes if s.values
        )
    else:
        row = replace(row, calls=graph.calls)
        counts = ((s.values, s.count) for s in graph.sizes_seen or () if s.values)
    return _by_size(replace(timed, row=row), counts, others) if symbols else row


def _rung(row: TunedRow, rungs: Sequence[Bucket], symbols: Sequence[str]) -> Bucket | None:
    """Whose sizes are numbers of the operation's shapes; the dynamic one for shapes with symbols."""
    built = [rung for rung in rungs if rung.refused is None and rung.failed is None]
    if symbols:
        open_ended = [r for r in built if r.kind in ("range", "dynamic") and len(r.dims) <= 1]
        return open_ended[0] if len(open_ended) == 1 and len(symbols) == 1 else None
    numbers = {int(n) for n in _NUMBER.findall(row.label)}
    fitting = [
        r for r in built if r.dims and all(isinstance(v, int) and v in numbers for v in r.dims.values())
    ]
    return fitting[0] if len(fitting) == 1 else None


def _by_size(
    timed: Timed, counts: Iterable[tuple[Mapping[str, int], int]], others: Sequence[Timed]
) -> TunedRow:
    row = timed.row
    uses = [TunedUse(dict(values), calls, _ratio(row, values)) for values, calls in counts]
    if not uses:
        return row
    far = [use for use in uses if use.ratio is not None and use.ratio >= FAR]
    calls = row.calls if row.calls is not None else sum(use.calls for use in uses)
    slower = [found for use in far if (found := _slowdown(timed, use, others)) is not None]
    worst = max(slower, default=None)
    more: dict[str, int] = {}
    return replace(
        row,
        uses=few(sorted(uses, key=lambda use: -use.calls), lengths.TUNED_USES, "uses", more),
        uses_count=len(uses),
        calls_far=sum(use.calls for use in far),
        far_share=round(sum(use.calls for use in far) / calls, 6) if calls else None,
        slowdown=round(worst[0], 4) if worst else None,
        slowdown_at=worst[1] if worst else None,
        more=more,
    )


def _ratio(row: TunedRow, values: Mapping[str, int]) -> float | None:
    """The largest ratio of any dimension of any operand between this size and the timed one."""
    return _apart(_shapes_at(row, values), row.timed_at)


def _shapes_at(row: TunedRow, values: Mapping[str, int]) -> list[str] | None:
    shapes = []
    for shape in row.shapes:
        numbers = [size(part).at(values) for part in shape.split("x")]
        if None in numbers:
            return None
        shapes.append("x".join(map(str, numbers)))
    return shapes


def _apart(shapes: Sequence[str] | None, others: Sequence[str]) -> float | None:
    if shapes is None:
        return None
    ours, theirs = ([int(n) for shape in side for n in _NUMBER.findall(shape)] for side in (shapes, others))
    if len(ours) != len(theirs):
        return None
    ratios = [max(a, b) / max(1, min(a, b)) for a, b in zip(ours, theirs, strict=True)]
    return round(max(ratios, default=1.0), 4)


def _slowdown(timed: Timed, use: TunedUse, others: Sequence[Timed]) -> tuple[float, str] | None:
    """This row's choice over the best one, both timed by torch near that size in another compile."""
    shapes = _shapes_at(timed.row, use.sizes)
    apart = [(_apart(shapes, other.row.timed_at), other) for other in others if other is not timed]
    near = [(ratio, other) for ratio, other in apart if ratio is not None and ratio <= NEAR]
    if not near:
        return None
    other = min(near, key=lambda pair: pair[0])[1]
    there = other.times.get(timed.choice or "")
    best = other.row.winner_ms
    return (there / best, other.row.label) if there is not None and best else None
