"""Graphs of both runs, paired without their ids, and functions that were cut in another way."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compilescope.analysis.report import Graph, Placeholder
from compilescope.compare.diff import FunctionChange, FunctionShape
from compilescope.compare.places import FunctionKey, Places, joined_ranks, place_of
from compilescope.compare.run import Recorded


@dataclass(slots=True, eq=False)
class Unit:
    """One graph handed to a backend, with its backward graphs; ``part`` of its function's code."""

    key: FunctionKey
    part: int
    forward: Graph
    backward: list[Graph] = field(default_factory=list)

    @property
    def graphs(self) -> list[Graph]:
        return [self.forward, *self.backward]


@dataclass(frozen=True, slots=True)
class Pair:
    base: Unit
    head: Unit


@dataclass(frozen=True, slots=True)
class Pairs:
    """``left``: graphs of each run without a partner."""

    pairs: list[Pair]
    left: tuple[list[Unit], list[Unit]]


def units(run: Recorded, places: Places, ranks: set[int]) -> list[Unit]:
    """Of processes with these ranks. In a report a backward graph follows its forward graph."""
    found: list[Unit] = []
    for graph in run.report.graphs:
        if graph.backward and found:
            found[-1].backward.append(graph)
        else:
            found.append(Unit(places.key(graph), places.part(graph), graph))
    return [unit for unit in found if unit.key.rank in ranks]


def paired(base: Sequence[Unit], head: Sequence[Unit]) -> Pairs:
    """Within a function: equal graphs first, then ever less alike ones, at last by order."""
    old, new = _by_function(base), _by_function(head)
    pairs: list[Pair] = []
    left: tuple[list[Unit], list[Unit]] = ([], [])
    for key in sorted(old.keys() | new.keys()):
        mine, theirs = old.get(key, []), new.get(key, [])
        for alike in _LIKENESS:
            found, mine, theirs = _matched(mine, theirs, alike)
            pairs += found
        left[0].extend(mine)
        left[1].extend(theirs)
    return Pairs(pairs, left)


_LIKENESS: tuple[Callable[[Unit], Hashable], ...] = (
    lambda u: (u.part, u.forward.ops, _inputs(u)),
    lambda u: (u.forward.ops, _inputs(u)),
    lambda u: (u.part, _input_kinds(u)),
    lambda u: u.forward.ops,
    lambda u: u.part,
)


def _matched(
    mine: Sequence[Unit], theirs: Sequence[Unit], alike: Callable[[Unit], Hashable]
) -> tuple[list[Pair], list[Unit], list[Unit]]:
    """Equal ones in order, and what is left of both."""
    waiting: dict[Hashable, deque[Unit]] = defaultdict(deque)
    for unit in theirs:
        waiting[alike(unit)].append(unit)
    pairs: list[Pair] = []
    left: list[Unit] = []
    for unit in mine:
        partners = waiting.get(alike(unit))
        if partners:
            pairs.append(Pair(unit, partners.popleft()))
        else:
            left.append(unit)
    taken = {id(pair.head) for pair in pairs}
    return pairs, left, [unit for unit in theirs if id(unit) not in taken]


def _by_function(found: Sequence[Unit]) -> dict[FunctionKey, list[Unit]]:
    groups: dict[FunctionKey, list[Unit]] = defaultdict(list)
    for unit in found:
        groups[unit.key].append(unit)
    return groups


def _inputs(unit: Unit) -> Hashable:
    """Inputs with sizes; symbols by the order they appear in, since their names are torch's."""
    names: dict[str, str] = {}
    return tuple((p.kind, p.dtype, p.device, _sizes(p, names)) for p in unit.forward.placeholders)


def _sizes(placeholder: Placeholder, names: dict[str, str]) -> Hashable:
    return tuple(_size(value, names) for value in placeholder.shape or ())


def _size(value: Any, names: dict[str, str]) -> Hashable:
    return value if isinstance(value, int) else names.setdefault(str(value), f"s{len(names)}")


def _input_kinds(unit: Unit) -> Hashable:
    return tuple((p.kind, p.dtype, len(p.shape or ())) for p in unit.forward.placeholders)


def function_changes(
    base: tuple[Sequence[Unit], Places], head: tuple[Sequence[Unit], Places]
) -> list[FunctionChange]:
    """Functions whose graphs differ in number, in ops, or in the code parts they are of."""
    old, new = _shapes(base[0]), _shapes(head[0])
    rows = (_changed(key, old, new, base[1], head[1]) for key in sorted(old.keys() | new.keys()))
    return joined_ranks(row for row in rows if row is not None)


def _shapes(found: Sequence[Unit]) -> Mapping[FunctionKey, FunctionShape]:
    return {
        key: FunctionShape(
            parts=len({unit.part for unit in group}),
            graphs=len(group),
            ops=sorted((unit.forward.ops for unit in group), key=lambda n: -1 if n is None else n),
        )
        for key, group in _by_function(found).items()
    }


def _changed(
    key: FunctionKey,
    old: Mapping[FunctionKey, FunctionShape],
    new: Mapping[FunctionKey, FunctionShape],
    base: Places,
    head: Places,
) -> FunctionChange | None:
    was, now = old.get(key), new.get(key)
    word = next(_words(was, now), None)
    return None if word is None else FunctionChange(place_of(key, base, head), word, was, now)


def _words(was: FunctionShape | None, now: FunctionShape | None) -> Iterator[str]:
    if was is None or now is None:
        yield "new" if was is None else "gone"
        return
    if was.parts != now.parts:
        yield "split" if now.parts > was.parts else "merged"
    if was.graphs != now.graphs:
        yield "more graphs" if now.graphs > was.graphs else "fewer graphs"
    if was.ops != now.ops:
        yield "other ops"
