"""What the report leaves out for length: every cut list says how many entries more there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from compilescope.analysis import lengths
from compilescope.analysis.compiled import UNREAD_CODE
from compilescope.analysis.index import Index
from compilescope.analysis.report import CacheMiss, Graph, Missing, Recompile, TunedSite


def left_out(
    indexes: Sequence[Index],
    graphs: Sequence[Graph],
    misses: Sequence[CacheMiss],
    recompiles: Sequence[Recompile],
    sites: Sequence[TunedSite],
) -> list[Missing]:
    """One entry a list that was cut, with the exact number of what is not in it."""
    found = [
        *_of_graphs(graphs),
        (
            missed(indexes) - len(misses),
            "cache misses with the part of the key that differs",
            f"the first {lengths.LOOKUPS} look-ups are compared: each reads a text of some 70 kB",
        ),
        (
            sum(r.also_failed_count - len(r.also_failed) for r in recompiles),
            "guards that failed at the same time as a cause",
            "of each cause the first are listed",
        ),
        (
            len(sites) - lengths.TUNED_SITES,
            "autotuned operations",
            "those whose winner changes with the size come first, then those tuned for most sizes",
        ),
        *(entry for index in indexes for entry in _of_process(index)),
    ]
    return [Missing(f"{number:,} more {what}", why) for number, what, why in found if number > 0]


def unplanned(more: Mapping[str, int]) -> list[Missing]:
    """Bucket ladders for which there was no time."""
    left = more.get("ladders", 0)
    why = "the functions with most calls are planned first, for half a second"
    return [Missing(f"{left:,} more functions with a planned bucket ladder", why)] if left else []


def _of_graphs(graphs: Sequence[Graph]) -> Iterator[tuple[int, str, str]]:
    guards = [graph.guards for graph in graphs if graph.guards is not None and graph.guards.listed]
    unread = sum(found.rows_count is None for found in guards)
    yield (
        unread,
        "lists of guards",
        f"the lists of the first {lengths.GUARD_LISTS} graphs of a process are read",
    )
    cut = sum((found.rows_count or len(found.rows)) - len(found.rows) for found in guards)
    yield (
        cut,
        "guards in long lists",
        f"of each list the first {lengths.GUARDS} are here; all of them are counted",
    )
    capped = sum(any(fact.reason.startswith(UNREAD_CODE) for fact in graph.missing) for graph in graphs)
    yield capped, "graphs with kernels, fusion and memory", UNREAD_CODE


def missed(indexes: Iterable[Index]) -> int:
    """Look-ups that missed, read or not."""
    return sum(_misses(index) for index in indexes)


def _misses(index: Index) -> int:
    detail = index.process.detail
    lookups = detail.inductor.lookups if detail is not None and detail.inductor is not None else ()
    return sum(lookup.name.endswith("_miss") for lookup in lookups)


def _of_process(index: Index) -> Iterator[tuple[int, str, str]]:
    for what, (read, more) in index.process.unread.items():
        yield more, what, f"the first {read:,} of a process are read"
