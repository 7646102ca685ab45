"""bucketed(): a model or function, its dimensions marked and its calls dispatched by a ladder."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import torch

from compilescope.bucketing import warm_up as warming
from compilescope.bucketing.backend import BucketedBackend, Ladder
from compilescope.bucketing.capture import Runs, capture, capture_ones, recompiles_on_purpose
from compilescope.bucketing.census import state_text
from compilescope.bucketing.example import Example, NamedTensor, named_tensors, signature_of
from compilescope.bucketing.explain import Explanation
from compilescope.bucketing.identify import Dims
from compilescope.bucketing.options import takes_options
from compilescope.bucketing.undo import side_effects_undone
from compilescope.bucketing.warm_up import WarmUp
from compilescope.observer import RungCompiled, RungFailed, RungRefused

Mode = Callable[[], AbstractContextManager[Any]]


class Bucketed:
    """What a bucketed module and a bucketed function have in common."""

    backend: BucketedBackend
    _compiled: Callable[..., Any]
    _signature: inspect.Signature
    _named: tuple[NamedTensor, ...]
    _target: Any
    _compile_options: dict[str, Any]

    def _set_up(self, target: Any, backend: BucketedBackend, **compile_options: Any) -> None:
        self.backend = backend
        self._compile_options = compile_options
        self._signature = signature_of(target, backend.dims)
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
        on copies of the example; random state, buffers, parameters and plain attributes are put back. Call
        it again to resume after an interrupt: rungs that are built stay built, and serve calls in between.
        Raises what the model raises on the example; a rung that it refuses is a warning.
        """
        started = time.perf_counter()
        seen = len(self.backend.events())
        self._signature.bind(*example, **example_by_name)
        copied = Example(self._named, example, example_by_name)
        runs, sizes = self._runs(copied), copied.sizes()
        modes = _modes(grad, inference_mode)
        with self.backend.census.muted():
            states = self._capture(modes, runs, sizes)
            line = warming.Progress(self.backend, progress)
            try:
                warming.build(self.backend, line)
            finally:
                line.close()
            for mode in modes:
                with mode(), side_effects_undone(self._target), recompiles_on_purpose():
                    warming.compare_padded(self.backend, runs.traced, sizes)
                    warming.record_graphs(self.backend, runs.traced, sizes)
        self.backend.census.note_warmed(states)
        kinds = [type(event) for event in self.backend.events()[seen:]]
        return WarmUp(
            compiled=kinds.count(RungCompiled),
            failed=kinds.count(RungFailed),
            refused=kinds.count(RungRefused),
            wall_s=time.perf_counter() - started,
            without_graph=tuple(state for state, has_graph in states.items() if not has_graph),
        )

    def explain(self) -> Explanation:
        """Entry by rung: sizes, kernels, compile seconds, cache outcome, hits, fallbacks, refusals."""
        return self.backend.explain()

    def _mark(self, arguments: tuple[Any, ...], by_name: dict[str, Any]) -> None:
        for each in self._named:
            each.mark(arguments, by_name)
        if self.backend.graphs is not None:
            self.backend.graphs.begin()

    def _call(self, arguments: tuple[Any, ...], by_name: dict[str, Any]) -> Any:
        self._mark(arguments, by_name)
        census = self.backend.census
        number = census.begin()
        outputs = self._compiled(*arguments, **by_name)
        census.end(number, self._is_training())
        return outputs

    def _capture(self, modes: list[Mode], runs: Runs, sizes: Mapping[str, int]) -> dict[str, bool]:
        """Trace in every mode, sizes of 1 last. Returns of each state whether it has a graph now."""
        graphs: dict[str, bool] = {}
        with recompiles_on_purpose():
            for mode in modes:
                with mode(), side_effects_undone(self._target):
                    capture(self.backend, runs, sizes)
            for mode in modes:
                with mode(), side_effects_undone(self._target):
                    graphs[state_text(self._is_training())] = capture_ones(self.backend, runs, sizes)
        missing = [state for state, has_graph in graphs.items() if not has_graph]
        warming.warn_without_graphs(self.backend, self._target, missing)
        return graphs

    def _runs(self, example: Example) -> Runs:
        plain = self._target
        while isinstance(plain, Bucketed):
            plain = plain._target

        def traced(sizes: Mapping[str, int]) -> Any:
            arguments, by_name = example.resized(sizes)
            return self(*arguments, **by_name)  # type: ignore[operator]

        @torch.compiler.disable  # type: ignore[untyped-decorator]
        def eagerly(sizes: Mapping[str, int]) -> Any:
            arguments, by_name = example.resized(sizes)
            return plain(*arguments, **by_name)

        return Runs(self._target, traced, eagerly)

    def _is_training(self) -> bool | None:
        return bool(self._target.training) if isinstance(self._target, torch.nn.Module) else None


class BucketedModule(Bucketed, torch.nn.Module):  # type: ignore[misc]
    """A module dispatched by a ladder. Like torch.compile's, it has the original as ``_orig_mod``."""

    def __init__(self, module: torch.nn.Module, backend: BucketedBackend, **compile_options: Any) -> None:
        super().__init__()
        self._orig_mod = module
        self._set_up(module, backend, **compile_options)

    def forward(self, *arguments: Any, **by_name: Any) -> Any:
        if torch.compiler.is_dynamo_compiling() or _is_traced_here((arguments, by_name)):
            return self._orig_mod(*arguments, **by_name)
        return self._call(arguments, by_name)

    @property
    def training(self) -> bool:
        return bool(self._orig_mod.training)

    @training.setter
    def training(self, mode: bool) -> None:
        if "_orig_mod" in self.__dict__.get("_modules", {}):
            self._orig_mod.training = mode

    def __getstate__(self) -> dict[str, Any]:
        """Without what belongs to this process; a deep copy has a backend of its own, and compiles anew."""
        made_here = ("_target", "_compiled", "_signature", "_named")
        return {name: value for name, value in self.__dict__.items() if name not in made_here}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._set_up(self._orig_mod, self.backend, **self._compile_options)

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
        self._set_up(function, backend, **compile_options)

    def __call__(self, *arguments: Any, **by_name: Any) -> Any:
        if torch.compiler.is_dynamo_compiling() or _is_traced_here((arguments, by_name)):
            return self._target(*arguments, **by_name)
        return self._call(arguments, by_name)


@takes_options
def bucketed(
    model: Any,
    ladder: Ladder,
    dims: Dims,
    *,
    dynamic: bool | None = None,
    fullgraph: bool = False,
    **options: Any,
) -> Any:
    """``model`` compiled once per rung of ``ladder``; ``dims`` names dimensions: {"x": {0: "tokens"}}.

    A module becomes a module, a function a function, both with ``warm_up`` and ``explain``. The name None
    marks a dimension that varies but has no ladder. A tensor inside an argument is named as Python would:
    {"batch['ids']": {1: "tokens"}}. ``options`` are those of :class:`Options`, ``dynamic`` and ``fullgraph``
    torch.compile's.
    Raises UsageError when ``dims`` names an argument that the model does not have.
    """
    backend = BucketedBackend(ladder, dims, **options)
    wrapper = BucketedModule if isinstance(model, torch.nn.Module) else BucketedFunction
    return wrapper(model, backend, dynamic=dynamic, fullgraph=fullgraph)


def _is_traced_here(given: Any) -> bool:
    """Whether this thread traces, as an export does.

    is_compiling() alone is true in every thread while one of them compiles anything; what traces has a fake
    mode, and that is the thread's own.
    """
    return torch.compiler.is_compiling() and torch._guards.detect_fake_mode(given) is not None


def _modes(grad: bool, inference_mode: bool) -> list[Mode]:
    modes: list[Mode] = [torch.no_grad]
    return modes + [torch.enable_grad] * grad + [torch.inference_mode] * inference_mode
