"""bucketed(): a model or function, its dimensions marked and its calls dispatched by a ladder."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch

from compilescope.bucketing import warm_up as warming
from compilescope.bucketing.backend import BucketedBackend, Build, Fallback, GraphMode, Ladder
from compilescope.bucketing.example import Example, NamedTensor, named_tensors
from compilescope.bucketing.explain import Explanation
from compilescope.bucketing.identify import Dims
from compilescope.bucketing.inner import Inner
from compilescope.bucketing.padding.contract import Pad
from compilescope.bucketing.piecewise import SplitOp
from compilescope.bucketing.warm_up import WarmUp
from compilescope.observer import RungCompiled, RungFailed, RungRefused


class Bucketed:
    """What a bucketed module and a bucketed function have in common."""

    backend: BucketedBackend
    _compiled: Callable[..., Any]
    _signature: inspect.Signature
    _named: tuple[NamedTensor, ...]
    _target: Any

    def _set_up(
        self, target: Any, forward: Callable[..., Any], backend: BucketedBackend, **compile_options: Any
    ) -> None:
        self.backend = backend
        self._signature = inspect.signature(forward)
        self._named = named_tensors(self._signature, backend.dims)
        # Not by attribute: a module registers modules it is given, and its state would be there twice.
        self.__dict__["_target"] = target
        self.__dict__["_compiled"] = torch.compile(target, backend=backend, **compile_options)

    def warm_up(
        self,
        *example: Any,
        grad: bool = True,
        inference_mode: bool = False,
        progress: bool = True,
        **example_by_name: Any,
    ) -> WarmUp:
        """Trace, then compile every rung of every graph, forward and backward, before the first request.

        ``example`` are arguments as a call would have them; their named dimensions may have any size. With
        ``grad`` the model is prepared for calls with gradients and under no_grad, else for no_grad alone;
        other states (autocast, train and eval) are prepared by calling this in them. The model runs eagerly
        once or more on copies of the example; random state and buffers are put back. Call it again to resume
        after an interrupt: rungs that are built stay built, and serve calls in between.
        """
        started = time.perf_counter()
        seen = len(self.backend.events())
        self._signature.bind(*example, **example_by_name)
        copied = Example(self._named, example, example_by_name)
        call, sizes = self._call_resized(copied), copied.sizes()
        for mode in _modes(grad, inference_mode):
            with mode(), warming.side_effects_undone(self._target):
                warming.capture(self.backend, call, sizes)
        line = warming.Progress(self.backend, progress)
        try:
            warming.build(self.backend, line)
        finally:
            line.close()
        for mode in _modes(grad, inference_mode):
            with mode(), warming.side_effects_undone(self._target):
                warming.compare_padded(self.backend, call, sizes)
                warming.record_graphs(self.backend, call, sizes)
        kinds = [type(event) for event in self.backend.events()[seen:]]
        return WarmUp(
            compiled=kinds.count(RungCompiled),
            failed=kinds.count(RungFailed),
            refused=kinds.count(RungRefused),
            wall_s=time.perf_counter() - started,
        )

    def explain(self) -> Explanation:
        """Entry by rung: sizes, kernels, compile seconds, cache outcome, hits, fallbacks, refusals."""
        return self.backend.explain()

    def _mark(self, arguments: tuple[Any, ...], by_name: dict[str, Any]) -> None:
        for each in self._named:
            each.mark(arguments, by_name)
        if self.backend.graphs is not None:
            self.backend.graphs.begin()

    def _call_resized(self, example: Example) -> warming.Call:
        def call(sizes: Mapping[str, int]) -> None:
            arguments, by_name = example.resized(sizes)
            self(*arguments, **by_name)  # type: ignore[operator]

        return call


class BucketedModule(Bucketed, torch.nn.Module):  # type: ignore[misc]
    """A module dispatched by a ladder. Like torch.compile's, it has the original as ``_orig_mod``."""

    def __init__(self, module: torch.nn.Module, backend: BucketedBackend, **compile_options: Any) -> None:
        super().__init__()
        self._orig_mod = module
        self._set_up(module, module.forward, backend, **compile_options)

    def forward(self, *arguments: Any, **by_name: Any) -> Any:
        self._mark(arguments, by_name)
        return self._compiled(*arguments, **by_name)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_orig_mod"), name)


class BucketedFunction(Bucketed):
    """A function whose calls are dispatched by a ladder."""

    def __init__(
        self, function: Callable[..., Any], backend: BucketedBackend, **compile_options: Any
    ) -> None:
        functools.update_wrapper(self, function)
        self._set_up(function, function, backend, **compile_options)

    def __call__(self, *arguments: Any, **by_name: Any) -> Any:
        self._mark(arguments, by_name)
        return self._compiled(*arguments, **by_name)


def bucketed(
    model: Any,
    ladder: Ladder,
    dims: Dims,
    *,
    inner: Inner = "inductor",
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    only: Sequence[Mapping[str, int]] | None = None,
    budget: int | None = None,
    build: Build = "capture",
    cuda_graphs: GraphMode = False,
    clone_outputs: bool = False,
    pad: Sequence[Pad] = (),
    verify: bool = False,
    fallback: Fallback = "dynamic",
    split_ops: Sequence[SplitOp] | None = None,
    dynamic: bool | None = None,
    fullgraph: bool = False,
) -> Any:
    """``model`` compiled once per rung of ``ladder``; ``dims`` names dimensions: {"x": {0: "tokens"}}.

    A module becomes a module, a function a function, both with ``warm_up`` and ``explain``. The name None
    marks a dimension that varies but has no ladder. The other arguments are BucketedBackend's and
    torch.compile's.
    Raises UsageError when ``dims`` names an argument that the model does not have.
    """
    backend = BucketedBackend(
        ladder,
        dims,
        inner=inner,
        mode=mode,
        options=options,
        only=only,
        budget=budget,
        build=build,
        cuda_graphs=cuda_graphs,
        clone_outputs=clone_outputs,
        pad=pad,
        verify=verify,
        fallback=fallback,
        split_ops=split_ops,
    )
    wrapper = BucketedModule if isinstance(model, torch.nn.Module) else BucketedFunction
    return wrapper(model, backend, dynamic=dynamic, fullgraph=fullgraph)


def _modes(grad: bool, inference_mode: bool) -> list[Callable[[], AbstractContextManager[Any]]]:
    modes: list[Callable[[], AbstractContextManager[Any]]] = [torch.no_grad]
    return modes + [torch.enable_grad] * grad + [torch.inference_mode] * inference_mode
