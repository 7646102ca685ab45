from __future__ import annotations

import sys
import warnings
from typing import Any

import pytest
import torch
from torch._inductor.utils import fresh_cache

from compilescope.bucketing.compile import CompiledRung, compile_rung
from compilescope.bucketing.dispatch import Dispatch, Served
from compilescope.bucketing.identify import symbols_of
from compilescope.bucketing.inner import CompileNotes, InnerCompiler, boxed_form

with warnings.catch_warnings():
    # Importing Inductor warns of torch's own use of what torch deprecates.
    warnings.simplefilter("ignore")
    import torch._inductor.compile_fx


def artifact_of(function: Any, *arguments: torch.Tensor) -> Any:
    graph_module = torch.fx.symbolic_trace(function)
    return InnerCompiler("aot_eager").compile(graph_module, arguments, CompileNotes())


def test_an_artifact_of_aot_autograd_takes_its_arguments_in_a_list() -> None:
    x = torch.randn(3)
    boxed = boxed_form(artifact_of(lambda x, y: [x + y], x, x))
    assert boxed is not None
    (output,) = boxed([x, x])
    torch.testing.assert_close(output, 2 * x)


class WithTensors(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.full((3,), 4.0))

    def forward(self, x: torch.Tensor) -> Any:
        return [x * self.scale]


@pytest.mark.parametrize("other", [lambda *a: a, torch.nn.Linear(2, 2), print])
def test_what_is_not_aot_autograds_has_no_such_form(other: Any) -> None:
    assert boxed_form(other) is None


def test_an_artifact_that_adds_tensors_of_its_own_has_no_such_form() -> None:
    artifact = artifact_of(WithTensors(), torch.randn(3))
    assert boxed_form(artifact) is None


def test_dispatch_of_many_arguments_packs_them_once() -> None:
    """What is saved inside pays for the look-up: no function more is called than without it."""
    names = [f"x{number}" for number in range(300)]
    scope: dict[str, Any] = {}
    exec(f"def function({', '.join(names)}): return [x0 + x299]", scope)
    arguments = [torch.zeros(()) for _ in names]
    artifact = artifact_of(scope["function"], *arguments)
    # Size 16 * 51 stands where a SymInt would: the artifact does not read it.
    dispatch = Dispatch(["16 * 51"], Served("eager", "eager", artifact), artifact)
    for k in range(1, 52):
        dispatch.add_pin([16 * k], Served(str(16 * k), "exact", artifact))
    dispatch.arm()

    def calls(function: Any) -> int:
        found = [0]

        def called(_frame: Any, event: str, _argument: Any) -> None:
            found[0] += event == "call"

        sys.setprofile(called)
        try:
            function(*arguments)
        finally:
            sys.setprofile(None)
        return found[0]

    with torch.no_grad():
        dispatch.function(*arguments), artifact(*arguments)
        assert calls(dispatch.function) <= calls(artifact)
    assert [count for *_, count in dispatch.counted() if count] == [2]


@pytest.mark.parametrize("grad", [False, True])
def test_what_is_loaded_from_a_cache_tells_as_much_as_what_was_compiled(trace: Any, grad: bool) -> None:
    """Without AOTAutograd's analysis nobody would see what is written and what is a view."""

    def function(x: torch.Tensor, seen: torch.Tensor) -> Any:
        seen.add_(1)
        y = x.sin()
        return y, y.t(), x.view(-1), y.sum() * seen

    example = torch.randn(4, 4, requires_grad=grad)
    with torch.set_grad_enabled(grad), fresh_cache():
        captured = trace(function, example, torch.zeros(())).captured
        sizes = dict.fromkeys(symbols_of(captured.inputs), 4)
        first, second = (compile_rung(captured, InnerCompiler(), sizes) for _ in range(2))
    assert [each.notes.cache for each in (first, second)] == ["miss", "hit"]

    def told(compiled: CompiledRung) -> Any:
        about, halves = compiled.metadata, [half.is_backward for half in compiled.notes.halves]
        outputs = [info.output_type for info in about.output_info]
        return outputs, [info.mutates_data for info in about.input_info], about.num_forward, halves

    assert told(first) == told(second)
    assert True in told(first)[1]
    assert told(first)[3] == ([False, True] if grad else [False])
