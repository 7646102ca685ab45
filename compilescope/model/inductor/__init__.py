"""What AOTAutograd and Inductor made of each graph: kernels, fusion, memory, autotuning, caches, CUDA graphs.

Feed a :class:`Collector` the records of a process; it keeps references. :func:`read_graph` and
:func:`read_aot` parse the texts of one graph when asked, so that thousands of graphs cost nothing unread.
"""

from __future__ import annotations

from compilescope.model.inductor.agreement import Agreement, Disagreement, agreement
from compilescope.model.inductor.build import ARTIFACTS, KINDS, Collector
from compilescope.model.inductor.caches import explained_misses, nearest, why_miss
from compilescope.model.inductor.read import compare, read_aot, read_graph
from compilescope.model.inductor.sizes import Size
from compilescope.model.inductor.sources import AotSource, Fact, GraphSource, InductorFacts, Lookup
from compilescope.model.inductor.tensors import Tensor
from compilescope.model.inductor.values import (
    Alias,
    AotGraphs,
    Autotuning,
    Buffer,
    CacheOutcome,
    Choice,
    CompiledGraph,
    Component,
    Crossing,
    CudagraphFunction,
    Cudagraphs,
    CudagraphSkip,
    Decomposition,
    FusedGroup,
    Fusion,
    FxNode,
    GraphKey,
    Kernel,
    KeyChange,
    Launch,
    MemoryPlan,
    Miss,
    MissedEpilogue,
    Mutation,
    Operand,
    SavedTensor,
    SourceLine,
    TritonTuning,
    Unfused,
)

__all__ = [
    "ARTIFACTS",
    "KINDS",
    "Agreement",
    "Alias",
    "AotGraphs",
    "AotSource",
    "Autotuning",
    "Buffer",
    "CacheOutcome",
    "Choice",
    "Collector",
    "CompiledGraph",
    "Component",
    "Crossing",
    "CudagraphFunction",
    "CudagraphSkip",
    "Cudagraphs",
    "Decomposition",
    "Disagreement",
    "Fact",
    "FusedGroup",
    "Fusion",
    "FxNode",
    "GraphKey",
    "GraphSource",
    "InductorFacts",
    "Kernel",
    "KeyChange",
    "Launch",
    "Lookup",
    "MemoryPlan",
    "Miss",
    "MissedEpilogue",
    "Mutation",
    "Operand",
    "SavedTensor",
    "Size",
    "SourceLine",
    "Tensor",
    "TritonTuning",
    "Unfused",
    "agreement",
    "compare",
    "explained_misses",
    "nearest",
    "read_aot",
    "read_graph",
    "why_miss",
]
