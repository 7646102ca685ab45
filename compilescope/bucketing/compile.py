"""Compile one rung, pin or range, of one captured graph."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx
from torch._guards import CompileContext, TracingContext, compile_context, tracing
from torch._subclasses.fake_tensor import FakeTensor

from compilescope.bucketing._torch import compile_lock, finite
from compilescope.bucketing.concretize import ExampleTraits, PrivateWorld, literal_copy
from compilescope.bucketing.guards import UnreachableGuardError, predicate
from compilescope.bucketing.identify import Placeholder, accessors
from compilescope.bucketing.inner import Artifact, CompileNotes, InnerCompiler
from compilescope.bucketing.state import GlobalState


@dataclass(frozen=True, slots=True)
class CapturedGraph:
    """All that later compiles need of one backend call; no user tensor is kept."""

    graph_module: fx.GraphModule
    inputs: tuple[Placeholder, ...]
    traits: tuple[ExampleTraits, ...]
    shape_env: Any
    state: GlobalState
    compile_id: Any
    reach: Mapping[Any, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        graph_module: fx.GraphModule,
        inputs: tuple[Placeholder, ...],
        examples: Sequence[Any],
        shape_env: Any,
        compile_id: Any,
    ) -> CapturedGraph:
        traits = tuple(
            ExampleTraits.of(each.value if isinstance(example, FakeTensor) else example)
            for each, example in zip(inputs, examples, strict=True)
        )
        reach = accessors(inputs)
        return cls(graph_module, inputs, traits, shape_env, GlobalState.now(), compile_id, reach)


@dataclass(frozen=True, slots=True)
class CompiledRung:
    """``predicate`` is what the code assumes of the symbols that were not fixed, as Python over ``a``.

    ``metadata`` is AOTAutograd's analysis of mutation and aliasing; None from a compiler without it.
    ``same_code_as`` names the rung whose artifact this one is.
    """

    artifact: Artifact
    predicate: tuple[str, ...]
    world: PrivateWorld
    notes: CompileNotes
    wall_s: float
    metadata: Any = None
    same_code_as: str | None = None

    def valid_span(self, symbol: Any) -> tuple[int, int | None]:
        """Lowest and highest size of the graph's free ``symbol`` that the code is valid for."""
        span = self.world.span_after(symbol)
        return finite(span.lower) or 0, finite(span.upper)


def compile_rung(
    captured: CapturedGraph,
    compiler: InnerCompiler,
    sizes: Mapping[Any, int],
    hints: Mapping[Any, int] | None = None,
    spans: Mapping[Any, tuple[int, int | None]] | None = None,
) -> CompiledRung:
    """Compile with the symbols of ``sizes`` as numbers, forward and backward, in the state of the capture.

    Raises UnreachableGuardError, and whatever the compiler raises.
    """
    started = time.perf_counter()
    with compile_lock(), captured.state.restored():
        world = PrivateWorld(captured.inputs, captured.traits, captured.shape_env, sizes, hints, spans)
        context = TracingContext(world.fake_mode)
        graph = literal_copy(captured.graph_module, world.mapping)
        notes = CompileNotes()
        with _private_context(captured, context, _tuning(hints or {}, spans or {})):
            artifact = compiler.compile(graph, world.arguments, notes)
    terms = predicate(world.shape_env, world.free, world.ranges_before, captured.reach)
    if context.guards_context.aotautograd_guards:
        raise UnreachableGuardError("the compiled code assumes how its inputs alias each other")
    wall_s = time.perf_counter() - started
    metadata = notes.metadata if context.fw_metadata is None else context.fw_metadata
    return CompiledRung(artifact, terms, world, notes, wall_s, metadata)


def at_sizes(
    captured: CapturedGraph,
    compiled: CompiledRung,
    label: str,
    terms: Sequence[str],
    sizes: Mapping[Any, int],
) -> CompiledRung | None:
    """A dynamic rung as a static one; None when ``terms``, its conditions, exclude ``sizes``."""
    started = time.perf_counter()
    world = PrivateWorld(captured.inputs, captured.traits, captured.shape_env, sizes)
    scope = {"a": world.arguments, "math": math, "torch": torch}
    if world.free or not all(eval(term, scope) for term in terms):
        return None
    wall_s = time.perf_counter() - started
    return CompiledRung(compiled.artifact, (), world, CompileNotes(), wall_s, compiled.metadata, label)


def _private_context(captured: CapturedGraph, context: TracingContext, tuning: str) -> ExitStack:
    stack = ExitStack()
    stack.enter_context(compile_context(CompileContext(captured.compile_id)))
    stack.enter_context(tracing(context))
    # A backward compiled on the first .backward() would make a request wait, and the guards it finds would
    # come too late for the predicate.
    stack.enter_context(torch._functorch.config.patch(force_non_lazy_backward_lowering=True))
    if tuning:
        tag = torch.compiler.config.cache_key_tag + tuning
        stack.enter_context(torch.compiler.config.patch(cache_key_tag=tag))
    return stack


def _tuning(hints: Mapping[Any, int], spans: Mapping[Any, tuple[int, int | None]]) -> str:
    """What the code depends on and no cache key of torch contains: tuned sizes, bounds of ranges."""
    return "".join(f"@{hint}{spans.get(symbol, '')}" for symbol, hint in hints.items())
