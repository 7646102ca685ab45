"""Many architectures: pinned, ranged and padded they are eager's, and after a warm-up nothing compiles."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from architectures import CASES, Case
from torch._dynamo.utils import counters

from compilescope.bucketing import Pad, bucketed
from compilescope.ladder import BucketLadder
from compilescope.observer import RungRefused

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

PINS = BucketLadder.pins([8, 16]) | BucketLadder.range(2, 24)
PADS = BucketLadder.pads([6, 12])


def tensors(result: Any) -> list[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, dict):
        result = list(result.values())
    return [each for value in result for each in tensors(value)] if isinstance(result, (list, tuple)) else []


def assert_eagers(model: Any, case: Case, n: int) -> None:
    given = case.make(n)
    for ours, theirs in zip(tensors(model(**given)), tensors(case.model(**given)), strict=True):
        assert ours.shape == theirs.shape
        scale = max(1.0, theirs.abs().max().item())
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4 * scale)


def made(case: Case, ladder: BucketLadder, padded: bool, **options: Any) -> Any:
    case.model.eval()
    dims: dict[str, dict[int, str | None]] = {each: {dim: case.name(each)} for each, dim in case.dims.items()}
    contracts = [Pad(each, dim, case.values[each]) for each, dim in case.dims.items()] if padded else []
    ladders = dict.fromkeys({case.name(each) for each in case.dims}, ladder)
    return bucketed(case.model, ladders, dims, inner="aot_eager", pad=contracts, **options)


def outcomes(model: Any) -> set[str]:
    return {count.outcome for count in model.backend.dispatch_counts() if count.count}


@pytest.mark.parametrize("name", CASES)
def test_padded_is_eagers_or_refused(name: str) -> None:
    pytest.importorskip("transformers")
    case = CASES[name]()
    model = made(case, PADS, padded=True)
    with torch.no_grad():
        model.warm_up(**case.make(7), grad=False)
        before = counters["stats"]["unique_graphs"], len(model.backend.events())
        for n in (12, 6, 9, 5, 14, 2):
            assert_eagers(model, case, n)
        assert (counters["stats"]["unique_graphs"], len(model.backend.events())) == before
        assert_eagers(model, case, 1)
    reasons = {event.reason for event in model.backend.events() if isinstance(event, RungRefused)}
    # Dynamo makes a size of one a constant: that graph has no rungs of its own.
    refused = {reason for reason in reasons if "== 1 in this graph" not in reason}
    if case.refused:
        assert any(case.refused in reason for reason in refused)
        assert "padded" not in outcomes(model)
    else:
        assert not refused
        assert {"padded", "exact", "dynamic"} <= outcomes(model)


@pytest.mark.parametrize("name", ["Llama", "Mixtral", "BERT", "T5 encodes", "convolutions, padded batch"])
def test_pins_and_ranges_are_eagers(name: str) -> None:
    pytest.importorskip("transformers")
    case = CASES[name]()
    model = made(case, PINS, padded=False)
    with torch.no_grad():
        model.warm_up(**case.make(7), grad=False)
        before = counters["stats"]["unique_graphs"], len(model.backend.events())
        sizes = random.Random(0)
        for _ in range(50):
            assert_eagers(model, case, sizes.randint(2, 24))
        assert (counters["stats"]["unique_graphs"], len(model.backend.events())) == before


@pytest.mark.parametrize(
    "name", ["Llama", "Gemma3", "RoBERTa", "T5 encodes", "torch's encoder, pooled", "ViT, padded batch"]
)
def test_gradients_of_padded_models_are_eagers(name: str) -> None:
    pytest.importorskip("transformers")
    case = CASES[name]()
    model = made(case, PADS, padded=True, fallback="eager")
    for n in (5, 12):
        given, gradients = case.make(n), []
        for called in (case.model, model):
            case.model.zero_grad(set_to_none=True)
            outputs = [each for each in tensors(called(**given)) if each.requires_grad]
            ramps = [torch.linspace(-1, 1, each.numel()).view(each.shape) for each in outputs]
            sum((each * ramp).sum() for each, ramp in zip(outputs, ramps, strict=True)).backward()
            gradients.append([each.grad for each in case.model.parameters()])
        for theirs, ours in zip(*gradients, strict=True):
            assert (ours is None) == (theirs is None)
            if theirs is not None:
                scale = max(1.0, theirs.abs().max().item())
                torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4 * scale)
    assert outcomes(model) == {"padded", "exact"}
