"""Kernels of graphs that both runs have: other kinds for the same ops, and other winners of autotuning."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest

from compilescope.analysis.report import Autotuning, Choice, Graph, KernelRow
from compilescope.compare.diff import ChoiceChange, KernelChange, Place
from compilescope.compare.graphs import Pair
from compilescope.compare.places import Places, joined_ranks, place_of

_NUMBER = re.compile(r"_\d+$")
_DRAW = 1.1  # two candidates within a tenth of each other change places by chance
_Kind = tuple[tuple[str, ...], str]  # (ops, what launches them)


def kernel_changes(pairs: Sequence[Pair], base: Places, head: Places) -> list[KernelChange]:
    """Only of graphs whose kernels both runs know. Names are not compared: Inductor numbers them."""
    return joined_ranks(
        row
        for pair in pairs
        for was, now in _same_direction(pair)
        for row in _kernels(was, now, place_of(pair.head.key, base, head))
    )


def choice_changes(pairs: Sequence[Pair], base: Places, head: Places) -> list[ChoiceChange]:
    return joined_ranks(
        row
        for pair in pairs
        for was, now in _same_direction(pair)
        for row in _choices(was, now, place_of(pair.head.key, base, head))
    )


def _same_direction(pair: Pair) -> Iterator[tuple[Graph, Graph]]:
    yield pair.base.forward, pair.head.forward
    yield from zip(pair.base.backward, pair.head.backward, strict=False)


def _kernels(was: Graph, now: Graph, place: Place) -> Iterator[KernelChange]:
    if not was.kernel_count or not now.kernel_count:
        return
    unnamed = {_what(row) for graph in (was, now) for row in graph.kernel_rows if not row.ops}
    old, new = _launches(was, unnamed), _launches(now, unnamed)
    direction = now.direction or was.direction
    for kind in sorted(old.keys() & new.keys()):
        if old[kind] != new[kind]:
            ops, what = kind
            yield KernelChange(place, direction, "launches", list(ops), what, what, old[kind], new[kind])
    left = _by_ops(old, new), _by_ops(new, old)
    for ops in sorted(left[0].keys() | left[1].keys()):
        for a, b in zip_longest(left[0].get(ops, ()), left[1].get(ops, ())):
            change = "choice" if a and b else "gone" if a else "new"
            yield KernelChange(
                place, direction, change, list(ops), a, b,
                old[(ops, a)] if a else 0, new[(ops, b)] if b else 0,
            )  # fmt: skip


def _launches(graph: Graph, unnamed: Collection[str]) -> Counter[_Kind]:
    """A graph that came from a cache may not know what is in its loops: kinds that lack it in one of the runs
    are compared without.
    """
    found: Counter[_Kind] = Counter()
    for row in graph.kernel_rows:
        what = _what(row)
        found[() if what in unnamed else tuple(sorted(row.ops)), what] += row.launches
    return found


def _by_ops(these: Counter[_Kind], others: Counter[_Kind]) -> dict[tuple[str, ...], list[str]]:
    """Kinds that the other run does not use for these ops."""
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for ops, what in sorted(these):
        if (ops, what) not in others:
            found[ops].append(what)
    return found


def _what(row: KernelRow) -> str:
    parts = [row.kind]
    if row.library:
        parts.append(f"({row.library})")
    if row.epilogue:
        parts.append(f"with {', '.join(sorted(row.epilogue))} fused in")
    return " ".join(parts)


def _choices(was: Graph, now: Graph, place: Place) -> Iterator[ChoiceChange]:
    old, new = _tuned(was), _tuned(now)
    for key in sorted(old.keys() & new.keys()):
        for a, b in zip(old[key], new[key], strict=False):
            first, second = _winner(a), _winner(b)
            if first is not None and second is not None and _name(first) != _name(second):
                yield ChoiceChange(
                    place, a.op, list(b.shapes), _name(first), _name(second), first.backend, second.backend,
                    first.time_ms, second.time_ms, _draw(a, b, _name(first), _name(second)),
                )  # fmt: skip


def _tuned(graph: Graph) -> dict[tuple[str, ...], list[Autotuning]]:
    found: dict[tuple[str, ...], list[Autotuning]] = defaultdict(list)
    for row in graph.autotune:
        found[(row.op, *row.dtypes, *(row.hinted or row.shapes))].append(row)
    return found


def _winner(tuning: Autotuning) -> Choice | None:
    return next((c for c in tuning.choices if c.name == tuning.winner), None)


def _name(choice: Choice) -> str:
    """Without the number that Inductor counts candidates by: the configuration tells them apart."""
    name = _NUMBER.sub("", choice.name)
    return f"{name} ({choice.config})" if choice.config else name


def _draw(a: Autotuning, b: Autotuning, first: str, second: str) -> bool:
    """By the times of one of the runs, in which both winners were candidates."""
    return any(_alike(run, first, second) for run in (a, b))


def _alike(run: Autotuning, first: str, second: str) -> bool:
    times = {_name(c): c.time_ms for c in run.choices if c.time_ms and not c.failed}
    one, other = times.get(first), times.get(second)
    return bool(one and other and max(one, other) <= min(one, other) * _DRAW)
