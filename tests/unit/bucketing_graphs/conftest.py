from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from compilescope.bucketing import BucketedBackend, bucketed
from compilescope.bucketing.graphs import CudaGraphs, Recording
from compilescope.bucketing.graphs.recorder import WARM_UP_RUNS


class RerunRecorder:
    """Records on a CPU: a replay runs the function again on the same tensors, into the same outputs.

    Like recordings in one pool, a replay overwrites the outputs of every other recording: with NaN, so that
    whoever still reads them shows.
    """

    device_type = "cpu"

    def __init__(self) -> None:
        self.made: list[Recording] = []
        self.stream = 7
        self.fails = False
        self.runs = 0

    def busy(self) -> str | None:
        return None

    def queue(self, device: torch.device) -> int:
        return self.stream

    def record(self, run: Callable[[], Any], device: torch.device) -> Recording:
        if self.fails:
            raise RuntimeError("operation not permitted when stream is capturing")
        for _ in range(WARM_UP_RUNS):
            run()
            self.runs += 1
        outputs = tuple(each.clone() if isinstance(each, torch.Tensor) else each for each in run())

        def replay() -> None:
            for other in self.made:
                for each in other.outputs if other is not recording else ():
                    if isinstance(each, torch.Tensor) and each.is_floating_point():
                        each.fill_(torch.nan)
            for mine, new in zip(outputs, run(), strict=True):
                if isinstance(mine, torch.Tensor):
                    mine.copy_(new)

        recording = Recording(replay, outputs, 0.0)
        self.made.append(recording)
        return recording

    def settle(self) -> None:
        pass

    def pool_bytes(self) -> int:
        return 0

    def forget_pool(self) -> None:
        pass


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
    backend: BucketedBackend, clone_outputs: bool = False, share_code: bool = False
) -> RerunRecorder:
    recorder = RerunRecorder()
    backend.graphs = CudaGraphs(
        backend.name, backend._report, clone_outputs=clone_outputs, share_code=share_code, recorder=recorder
    )
    return recorder


@pytest.fixture
def graphed() -> Callable[..., tuple[Any, RerunRecorder]]:
    """graphed(model, ladder, dims): the model with graphs that are recorded on the CPU."""

    def make(
        model: Any,
        ladder: Any,
        dims: Any,
        clone_outputs: bool = False,
        share_code: bool = False,
        **options: Any,
    ) -> Any:
        options.setdefault("inner", "aot_eager")
        served = bucketed(model, ladder, dims, cuda_graphs=True, **options)
        return served, give_recorder(served.backend, clone_outputs, share_code)

    return make
