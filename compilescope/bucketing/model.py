"""bucketed(): a model or function, its dimensions marked and its calls dispatched by a ladder."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal

import torch

from compilescope.bucketing import warm_up as warming
from compilescope.bucketing.backend import BucketedBackend, Build, Fallback, Ladder
from compilescope.bucketing.explain import Explanation
from compilescope.bucketing.identify import ARGUMENT, TAG, Dims
from compilescope.bucketing.inner import Inner
from compilescope.bucketing.padding.contract import Pad
from compilescope.bucketing.piecewise import SplitOp
from compilescope.bucketing.warm_up import WarmUp
from compilescope.errors import UsageError
from compilescope.observer import RungCompiled, RungFailed, RungRefused

CAPTURE_SIZE = 7
"""Size that stands in for 0 and 1, which Dynamo makes constants, when a model is captured."""


class Bucketed:
    """What a bucketed module and a bucketed function have in common."""

    backend: BucketedBackend
    _compiled: Callable[..., Any]
    _signature: inspect.Signature
    _marks: Mapping[str, Mapping[int, str | None]]
    _target: Any

    def _set_up(
        self, target: Any, forward: Callable[..., Any], backend: BucketedBackend, **compile_options: Any
    ) -> None:
        self.backend = backend
        self._signature = inspect.signature(forward)
        self._marks = backend.dims
        self._positions = _positions(self._signature, backend.dims)
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
        bound = self._signature.bind(*example, **example_by_name)
        for mode in _modes(grad, inference_mode):
            with mode(), warming.side_effects_undone(self._target):
                warming.capture(self.backend, self._call_resized(bound), self._capture_sizes(bound))
        line = warming.Progress(self.backend, progress)
        try:
            warming.build(self.backend, line)
        finally:
            line.close()
        for mode in _modes(grad, inference_mode):
            with mode(), warming.side_effects_undone(self._target):
                warming.compare_padded(self.backend, self._call_resized(bound), self._capture_sizes(bound))
                warming.record_graphs(self.backend, self._call_resized(bound), self._capture_sizes(bound))
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
        for name, position in self._positions.items():
            tensor = arguments[position] if position < len(arguments) else by_name.get(name)
            if isinstance(tensor, torch.Tensor):
                mark(tensor, self._marks[name], name)
        if self.backend.graphs is not None:
            self.backend.graphs.begin()

    def _capture_sizes(self, bound: inspect.BoundArguments) -> dict[str, int]:
        """The example's sizes; 0 and 1 replaced, and no two alike: Dynamo may take them for one symbol."""
        sizes: dict[str, int] = {}
        for argument, dims in self._marks.items():
            tensor = bound.arguments.get(argument)
            for dim, name in dims.items():
                if name is not None and isinstance(tensor, torch.Tensor) and dim < tensor.dim():
                    sizes.setdefault(name, tensor.shape[dim])
        taken: set[int] = set()
        for name, size in sizes.items():
            wanted = size if size > 1 else CAPTURE_SIZE
            while wanted in taken:
                wanted += 1
            sizes[name] = wanted
            taken.add(wanted)
        return sizes

    def _call_resized(self, bound: inspect.BoundArguments) -> warming.Call:
        def call(sizes: Mapping[str, int]) -> None:
            resized = inspect.BoundArguments(self._signature, dict(bound.arguments))
            for argument, value in bound.arguments.items():
                if isinstance(value, torch.Tensor):
                    resized.arguments[argument] = _resized(value, self._marks.get(argument, {}), sizes)
            self(*resized.args, **resized.kwargs)  # type: ignore[operator]

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
    cuda_graphs: bool | Literal["shared"] = False,
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


def mark(tensor: torch.Tensor, dims: Mapping[int, str | None], argument: str = "") -> None:
    """Ask Dynamo to keep these dimensions symbolic, and tell the backend their names.

    A dimension that the model's code fixes to a constant becomes one, where ``mark_dynamic`` would raise.
    """
    setattr(tensor, TAG, dims)
    setattr(tensor, ARGUMENT, argument)
    torch._dynamo.maybe_mark_dynamic(tensor, [dim for dim in dims if dim < tensor.dim()])


def _positions(signature: inspect.Signature, dims: Dims) -> dict[str, int]:
    names = list(signature.parameters)
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in signature.parameters.values())
    for name in dims:
        if name not in names and not takes_any:
            raise UsageError(f"dims names the argument {name!r}; the model takes {', '.join(names)}")
    return {name: names.index(name) if name in names else len(names) for name in dims}


def _modes(grad: bool, inference_mode: bool) -> list[Callable[[], AbstractContextManager[Any]]]:
    modes: list[Callable[[], AbstractContextManager[Any]]] = [torch.no_grad]
    return modes + [torch.enable_grad] * grad + [torch.inference_mode] * inference_mode


def _resized(tensor: torch.Tensor, dims: Mapping[int, str | None], sizes: Mapping[str, int]) -> torch.Tensor:
    """A copy with the named dimensions at ``sizes``, filled by repeating what the example has."""
    copy = tensor.detach()
    for dim, name in dims.items():
        if name is not None and name in sizes and dim < tensor.dim() and copy.shape[dim] != sizes[name]:
            index = torch.arange(sizes[name], device=copy.device) % max(copy.shape[dim], 1)
            copy = (
                copy.index_select(dim, index)
                if copy.shape[dim]
                else copy.new_zeros(_with(copy, dim, sizes[name]))
            )
    return copy.clone().requires_grad_(tensor.requires_grad)


def _with(tensor: torch.Tensor, dim: int, size: int) -> list[int]:
    return [size if position == dim else each for position, each in enumerate(tensor.shape)]
