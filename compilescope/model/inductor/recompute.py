"""Which saved activations the backward could compute again from what it has anyway.

Without a GEMM, a convolution, attention, sorting or random numbers: with elementwise operations and
reductions alone. Torch's partitioner weighs this too and keeps what it takes for cheaper to keep; activation
checkpointing decides otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compilescope.model.inductor.fx_text import FxGraph, Node
from compilescope.model.inductor.values import SavedTensor

MAX_DEPTH = 200
_DEAR = (
    "mm",
    "addmm",
    "bmm",
    "baddbmm",
    "addbmm",
    "_int_mm",
    "_scaled_mm",
    "_grouped_mm",
    "sort",
    "topk",
    "einsum",
)
_DEAR_PARTS = (
    "convolution",
    "attention",
    "rand",
    "bernoulli",
    "dropout",
    "rng",
    "sampled",
    "scatter",
    "cumsum",
)


def recomputable(forward: FxGraph, saved: Sequence[SavedTensor]) -> tuple[SavedTensor, ...]:
    """Largest first; each is dropped only if it can be had from the inputs and from what is still kept."""
    nodes = forward.by_name()
    activations = [s for s in saved if s.kind == "activation"]
    kept = {*forward.inputs, *(s.name for s in saved)}
    dropped = []
    for candidate in sorted(activations, key=lambda s: -(_size(s))):
        kept.discard(candidate.name)
        if _reachable(candidate.name, nodes, kept, {}, 0):
            dropped.append(candidate)
        else:
            kept.add(candidate.name)
    return tuple(dropped)


def _reachable(
    name: str, nodes: Mapping[str, Node], kept: set[str], known: dict[str, bool], depth: int
) -> bool:
    if name in kept:
        return True
    node = nodes.get(name)
    if node is None or depth > MAX_DEPTH or _is_dear(node.op):
        return False
    if name not in known:
        known[name] = False  # a torn text can make a circle
        known[name] = all(_reachable(i, nodes, kept, known, depth + 1) for i in node.inputs)
    return known[name]


def _is_dear(op: str) -> bool:
    words = op.split(".")
    if words[0] not in ("aten", "prims", "getitem"):
        return True  # a custom op: nobody knows
    name = words[1] if len(words) > 1 else ""
    return name in _DEAR or any(part in name for part in _DEAR_PARTS)


def _size(saved: SavedTensor) -> int:
    return saved.size_bytes.order({}) if saved.size_bytes else 0
