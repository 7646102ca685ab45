"""Which implementation won at which size: the autotuned operations of a function side by side.

Compiles of the same function, and rungs of one captured graph, are one family. In it an operation is
recognized by its node in the graph; where the recording does not name nodes (an imported log), by the shape
of its last operand, the weight.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from compilescope.analysis import lengths
from compilescope.analysis.lengths import few
from compilescope.analysis.report import Autotuning, Graph
from compilescope.analysis.report_run import Bucket
from compilescope.analysis.report_tuned import TunedRow, TunedSite
from compilescope.analysis.tuned_missing import missing_of
from compilescope.analysis.tuned_uses import Timed, used

_NUMBER = re.compile(r"\d+")
_Family = tuple[str, str, int, str]  # process, file, line, function


@dataclass(frozen=True, slots=True)
class _Tuned:
    graph: Graph
    found: Autotuning

    @property
    def site(self) -> tuple[str, ...]:
        found = self.found
        own = found.node or "|".join((*found.dtypes, *found.shapes[-1:]))
        return (found.op, "backward" if found.backward else "", own)


def tuned_sites(graphs: Iterable[Graph], buckets: Sequence[Bucket]) -> list[TunedSite]:
    """Sites whose winner changes first, then those with most sizes."""
    families: dict[_Family, dict[tuple[str, ...], list[_Tuned]]] = defaultdict(lambda: defaultdict(list))
    for graph in graphs:
        for found in graph.autotune:
            tuned = _Tuned(graph, found)
            families[graph.process, graph.file, graph.line, graph.function][tuned.site].append(tuned)
    rungs: dict[tuple[str, str], list[Bucket]] = defaultdict(list)
    for bucket in buckets:
        rungs[bucket.process, str(bucket.graph)].append(bucket)
    sites = [_site(tuned, rungs) for family in families.values() for tuned in family.values()]
    return sorted(_merged(sites), key=lambda s: (-s.winner_changes, -s.rows_count))


def _site(tuned: Sequence[_Tuned], rungs: Mapping[tuple[str, str], Sequence[Bucket]]) -> TunedSite:
    first = tuned[0]
    by_shapes = {(t.graph.compile_id, t.found.rung, tuple(t.found.shapes)): t for t in tuned}
    labels = _labels([t.found for t in by_shapes.values()])
    timed = [Timed(_row(t, label), t.found) for t, label in zip(by_shapes.values(), labels, strict=True)]
    rows = [
        used(own, t.graph, rungs.get((t.graph.process, t.graph.compile_id), ()), timed)
        for own, t in zip(timed, by_shapes.values(), strict=True)
    ]
    rows = [replace(row, missing=missing_of(row)) for row in rows]
    rows.sort(key=_by_size)
    more: dict[str, int] = {}
    return TunedSite(
        first.found.op,
        first.graph.function,
        first.graph.file,
        first.graph.line,
        first.graph.process,
        [first.found.node] if first.found.node else [],
        list(dict.fromkeys(t.found.line for t in tuned if t.found.line is not None)),
        first.found.dtypes,
        first.found.strides,
        few(rows, lengths.TUNED_ROWS, "rows", more),
        len(rows),
        _changes([row.winner_backend for row in rows]),
        _changes([row.winner_config or row.winner for row in rows]),
        more,
    )


def _row(tuned: _Tuned, label: str) -> TunedRow:
    found = tuned.found
    timed = [c for c in found.choices if c.time_ms is not None]
    best, second = (*timed[:2], None, None)[:2]
    return TunedRow(
        label=label,
        shapes=found.shapes,
        timed_at=_timed_at(found),
        compile_id=tuned.graph.compile_id,
        winner=found.winner,
        winner_backend=found.winner_backend,
        winner_ms=best.time_ms if best else None,
        second=second.name if second else None,
        second_ms=second.time_ms if second else None,
        margin=found.margin,
        default=found.default,
        default_ms=found.default_ms,
        margin_over_default=found.margin_over_default,
        emitted=found.emitted,
        slower_than_default=_slower(found),
        emitted_ms=_emitted_ms(found),
        winner_config=best.config if best else None,
        candidates=found.choices_count,
        failed=found.failed_count,
        failures=_failures(found),
    )


def _emitted_ms(found: Autotuning) -> float | None:
    times = (c.time_ms for c in found.choices if c.backend == found.emitted)
    return next((ms for ms in times if ms is not None), None)


def _slower(found: Autotuning) -> bool | None:
    """Of what the code launches, timed alone. None where the launch or a time is not known."""
    own = _emitted_ms(found)
    return own > found.default_ms if own is not None and found.default_ms is not None else None


def _failures(found: Autotuning) -> list[str]:
    named = [f"{c.name}: {c.why}" for c in found.choices if c.failed and c.why]
    told = {c.why for c in found.choices if c.why}
    return [*named, *(text for text in found.failures if text not in told)]


def _timed_at(found: Autotuning) -> list[str]:
    hinted = [shape for shape in found.hinted if shape]
    return hinted if len(hinted) == len(found.shapes) else found.shapes


def _labels(found: Sequence[Autotuning]) -> list[str]:
    """The numbers in which the timed shapes differ, each once. Of one row the sizes that stayed free, else
    all shapes.
    """
    numbers = [[n for shape in _timed_at(f) for n in shape.split("x")] for f in found]
    if len({tuple(row) for row in numbers}) == 1:
        return [_free(f) or ", ".join(_timed_at(f)) for f in found]
    if len({len(row) for row in numbers}) != 1:
        return [", ".join(_timed_at(f)) for f in found]
    differing = [i for i, column in enumerate(zip(*numbers, strict=True)) if len(set(column)) > 1]
    return ["x".join(dict.fromkeys(row[i] for i in differing)) for row in numbers]


def _free(found: Autotuning) -> str:
    shapes, timed = ([n for s in side for n in s.split("x")] for side in (found.shapes, _timed_at(found)))
    pairs = zip(shapes, timed, strict=False)
    return "x".join(dict.fromkeys(value for name, value in pairs if name != value))


def _by_size(row: TunedRow) -> tuple[list[int], str]:
    return [int(n) for n in _NUMBER.findall(row.label)], row.compile_id


def _changes(values: Sequence[str | None]) -> int:
    known = [value for value in values if value]
    return sum(a != b for a, b in pairwise(known))


def _merged(sites: Iterable[TunedSite]) -> list[TunedSite]:
    """Layers that are alike: the same sizes with the same winners in the same function.

    Torch numbers the candidates of each layer anew, so a template is known by its configuration.
    """
    alike: dict[tuple[object, ...], TunedSite] = {}
    for site in sites:
        rows = tuple((r.compile_id, *r.shapes, r.winner_config or r.winner, r.emitted) for r in site.rows)
        key = (site.op, site.process, site.file, site.line, tuple(site.dtypes), rows)
        known = alike.get(key)
        if known is None:
            alike[key] = site
            continue
        lines = list(dict.fromkeys((*known.lines, *site.lines)))
        alike[key] = replace(known, nodes=[*known.nodes, *site.nodes], lines=lines)
    return list(alike.values())
