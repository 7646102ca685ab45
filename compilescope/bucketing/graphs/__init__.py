"""CUDA graphs for static rungs: inputs copied into static buffers, one recording per rung, one memory pool.

>>> model = bucketed(model, ladder, dims, cuda_graphs=True)
>>> model.warm_up(example_x)               # records every rung, largest first
>>> print(model.backend.graphs)            # recorded, replayed, skipped and why
"""

from __future__ import annotations

from compilescope.bucketing.graphs.artifact import GraphedArtifact
from compilescope.bucketing.graphs.buffers import BufferPlan, Slots, StaticBuffers
from compilescope.bucketing.graphs.cuda import CudaRecorder
from compilescope.bucketing.graphs.graphs import CudaGraphs
from compilescope.bucketing.graphs.recorder import Recorder, Recording, Tape
from compilescope.bucketing.graphs.report import GraphLine, GraphReport
from compilescope.bucketing.graphs.skip import skip_reason

__all__ = [
    "BufferPlan",
    "CudaGraphs",
    "CudaRecorder",
    "GraphLine",
    "GraphReport",
    "GraphedArtifact",
    "Recorder",
    "Recording",
    "Slots",
    "StaticBuffers",
    "Tape",
    "skip_reason",
]
