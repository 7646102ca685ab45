"""Why a field of a graph's row is null: what an answer would have needed, and did not get.

A field that is not named here is null where it has nothing to say: a tensor has no hint, an inference graph
no backward. Facts are named by their place in the row: ``fusion.bytes_before``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from compilescope.analysis.index import Index
from compilescope.analysis.partners import NO_PARTNER
from compilescope.analysis.report import Graph, Missing

BELOW_DYNAMO = ("direction", "fusion", "memory", "code", "kernel_count")
INTERPRETED = frozenset(  # backends that run operators one by one: no code is generated
    ("eager", "eager_noexcept", "aot_eager", "aot_eager_decomp_partition", "aot_eager_default_partitioner")
)
_NO_LINE = "torch names no line of the program: it made this for itself, or a library did"
_SYMBOLIC = "a size in it is not known as a number"
_FROM_CODE = "derived from the generated code: Inductor's scheduler was not seen at work on this graph"
WHY = {
    "GuardRow.at": _NO_LINE,
    "Guards.count": "the compile did not get to its guards",
    "Guards.hot_check_us": "no check was timed: the hook on new cache entries did not see this one",
    "Guards.cold_check_us": "torch did not time a check of this compile",
    "Symbol.created_at": _NO_LINE,
    "Symbol.range": "torch states no range for it",
    "SymbolGuard.at": _NO_LINE,
    "Specialization.file": _NO_LINE,
    "Specialization.line": _NO_LINE,
    "Specialization.partner": NO_PARTNER,
    "Specialization.reason": "torch states none",
    "Mutation.line": _NO_LINE,
    "SavedTensor.line": _NO_LINE,
    "SavedTensor.shape": "AOTAutograd's graph does not show it",
    "SavedTensor.size_bytes": _SYMBOLIC,
    "Aot.saved_bytes": _SYMBOLIC,
    "Aot.recompute_saves_bytes": _SYMBOLIC,
    "Fusion.nodes_before": _FROM_CODE,
    "Fusion.nodes_after": _FROM_CODE,
    "Fusion.bytes_eager": _SYMBOLIC,
    "Fusion.bytes_before": _FROM_CODE,
    "Fusion.bytes_after": _SYMBOLIC,
    "Unfused.shared_bytes": "a buffer between the two has no name of its own in the generated code",
    "FusedGroup.bytes_before": _SYMBOLIC,
    "FusedGroup.bytes_after": _SYMBOLIC,
    "MissedEpilogue.saved_bytes": _SYMBOLIC,
    "KernelRow.bytes_moved": _SYMBOLIC,
    "KernelNode.line": "torch names no line of the program for it, or the recording has lines by kernel only",
    "KernelRow.device": "the generated code does not show it",
    "Memory.allocated_bytes": _SYMBOLIC,
    "Memory.reused_bytes": _SYMBOLIC,
    "Memory.peak_bytes": _SYMBOLIC,
    "Memory.end_bytes": _SYMBOLIC,
    "Buffer.shape": "the generated code does not show it",
    "Buffer.size_bytes": _SYMBOLIC,
    "Buffer.written_by": "no kernel of this graph is seen to fill it",
    "Crossing.size_bytes": _SYMBOLIC,
    "Crossing.pinned": "the code does not allocate the host's side, or nothing is copied",
    "Crossing.blocking": "the generated code does not show it",
    "CacheOutcome.key": "the look-up ended before it had a key",
    "CacheOutcome.took_s": "torch does not time this look-up",
    "Autotuning.winner": "no candidate could be timed",
    "Autotuning.margin": "fewer than two candidates have a time",
    "Autotuning.node": "the recording names the operation only: it is of torch's own trace",
    "Autotuning.line": _NO_LINE,
    "Autotuning.backward": "the recording names the operation only: it is of torch's own trace",
    "Autotuning.default": "no library call was among the candidates",
    "Autotuning.default_ms": "no library call was timed",
    "Autotuning.margin_over_default": "no library call was timed",
    "Autotuning.emitted": "the kernels that were read do not show it",
    "Aot.recomputable_bytes": _SYMBOLIC,
    "Autotuning.compiled": "no candidate was compiled while it was timed, or the recording does not tell",
    "Autotuning.compiled_s": "no candidate was compiled while it was timed, or the recording does not tell",
    "Autotuning.tuning_s": "the recording has the choice, not how long it took",
}
_PARTS = (
    "guards",
    "symbols",
    "symbol_guards",
    "specializations",
    "kernel_rows",
    "fusion",
    "memory",
    "aot",
    "autotune",
    "cache_outcomes",
    "crossings",
)


def explained(index: Index, row: Graph) -> Graph:
    """The row with an entry in ``missing`` for each null that stands for something not captured."""
    known = {fact.fact for fact in row.missing}
    detailed = index.process.detail is not None
    found = [*_of_row(index, row), *(_inside(row) if detailed else ())]
    more = {fact.fact: fact for fact in found if fact.fact not in known}
    return replace(row, missing=[*row.missing, *more.values()]) if more else row


def _of_row(index: Index, row: Graph) -> Iterator[Missing]:
    if row.ops is None:
        yield Missing("ops", "the compile did not end")
    if row.backend is None:
        yield Missing("backend", "torch's own trace does not name it, and no hook saw the graph handed over")
    if index.process.detail is None:
        return
    below = _why_nothing_below(row)
    yield from (Missing(name, below) for name in BELOW_DYNAMO if getattr(row, name) is None)
    if row.aot is None:
        yield Missing("aot", _why_no_aot(row))
    if row.guards is None:
        yield Missing("guards", _why_no_guards(row))


def _why_nothing_below(row: Graph) -> str:
    if row.backend in INTERPRETED:
        return f"the backend {row.backend} runs operators one by one: no code is generated"
    told = next((fact.reason for fact in row.missing if fact.fact == "kernels"), None)
    return told or "the generated code does not show it"


def _why_no_aot(row: Graph) -> str:
    if row.backward:
        return "it stands in the row of the forward"
    if row.backend in ("eager", "eager_noexcept"):
        return f"the backend {row.backend} does not go through AOTAutograd"
    return "AOTAutograd's graphs are not in the recording, as when the graph came from its cache"


def _why_no_guards(row: Graph) -> str:
    if row.backward:
        return "a backward graph has none: those of its forward are checked"
    return "the compile did not get to its guards"


def _inside(row: Graph) -> Iterator[Missing]:
    for name in _PARTS:
        yield from _nulls(getattr(row, name), name)


def _nulls(value: object, path: str) -> Iterator[Missing]:
    if isinstance(value, list):
        for item in value:
            yield from _nulls(item, path)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for name, why in _fields(type(value)):
            item = getattr(value, name)
            if item is None:
                if why is not None:
                    yield Missing(f"{path}.{name}", why)
            elif not isinstance(item, str | int | float):
                yield from _nulls(item, f"{path}.{name}")


@cache
def _fields(cls: type) -> tuple[tuple[str, str | None], ...]:
    """Names of a dataclass's fields, and why one may be null."""
    return tuple((each.name, WHY.get(f"{cls.__name__}.{each.name}")) for each in dataclasses.fields(cls))
