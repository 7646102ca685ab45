"""The Trainer over graphs of forward and backward, recorded on the host: it learns what eager learns."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from compilescope.bucketing import backend as backends
from compilescope.bucketing.graphs import CudaGraphs
from tests.unit.bucketing_graphs.host import HostRecorder

pytestmark = pytest.mark.filterwarnings("ignore")

SCRIPT = Path(__file__).parents[3] / "docs" / "examples" / "hf_packed.py"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    spec = importlib.util.spec_from_file_location("hf_packed", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(backends, "CudaGraphs", functools.partial(CudaGraphs, recorder=HostRecorder))
    return module


@pytest.mark.parametrize("accumulate", [1, 2])
def test_the_trainer_replays_forward_and_backward(
    example: Any, accumulate: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses, lines = {}, []
    made = example.compiled

    def keeping(model: Any, mode: str, *rest: Any) -> Any:
        model = made(model, mode, *rest)
        if mode == "graphs":
            lines.append(model.forward.backend.graphs)
        return model

    monkeypatch.setattr(example, "compiled", keeping)
    for mode in ("eager", "graphs"):
        torch._dynamo.reset()
        arguments = ["hf_packed", "--one", mode, "--steps", "6", "--inner", "aot_eager"]
        monkeypatch.setattr("sys.argv", [*arguments, "--accumulate", str(accumulate)])
        losses[mode] = example.train(example.arguments())["loss"]
    assert losses["graphs"] == pytest.approx(losses["eager"], abs=2e-3)
    trained = [line for line in lines[0].report().lines if line.backward_replays is not None]
    assert sum(line.replays for line in trained) == sum(line.backward_replays for line in trained)
    assert sum(line.replays for line in trained) == 6 * accumulate
    assert not any(line.plainly for line in trained)
