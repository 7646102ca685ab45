from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from compilescope.bucketing import BucketedBackend, bucketed
from compilescope.bucketing.graphs import CudaGraphs

from .host import HostRecorder


@pytest.fixture(autouse=True)
def fresh_dynamo() -> Iterator[None]:
    """pytest listens on the root logger, for which torch would format every graph it traces."""
    logger = logging.getLogger("torch.__trace")
    logger.propagate, before = False, logger.propagate
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()
    logger.propagate = before


def give_recorder(
    backend: BucketedBackend, clone_outputs: bool = False, share_code: bool = False, pieces: bool = False
) -> HostRecorder:
    """The recorder of what is served; those of entries that are trained follow in its ``training``."""
    first = HostRecorder()
    waiting = [first]

    def recorder() -> HostRecorder:
        if waiting:
            return waiting.pop()
        first.training.append(HostRecorder())
        return first.training[-1]

    backend.graphs = CudaGraphs(
        backend.name,
        backend._report,
        clone_outputs=clone_outputs,
        share_code=share_code,
        runs_eagerly=backend._compiler.matches if pieces else None,
        recorder=recorder,
    )
    return first


@pytest.fixture
def graphed() -> Callable[..., tuple[Any, HostRecorder]]:
    """graphed(model, ladder, dims): the model with graphs that are recorded on the CPU."""

    def make(
        model: Any,
        ladder: Any,
        dims: Any,
        clone_outputs: bool = False,
        share_code: bool = False,
        pieces: bool = False,
        **options: Any,
    ) -> Any:
        options.setdefault("inner", "aot_eager")
        served = bucketed(model, ladder, dims, cuda_graphs=True, **options)
        return served, give_recorder(served.backend, clone_outputs, share_code, pieces)

    return make
