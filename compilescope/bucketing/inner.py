"""The compiler that makes the artifacts: Inductor, aot_eager, eager, or ``(graph, inputs) -> callable``."""

from __future__ import annotations

import inspect
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from compilescope.bucketing.halves import Half, NodeByNode
from compilescope.errors import UsageError

if TYPE_CHECKING:
    from compilescope.bucketing.piecewise.sequence import PieceSequence

Artifact = Callable[..., Any]
Inner = str | Callable[[fx.GraphModule, Sequence[Any]], Artifact]


@dataclass(slots=True)
class CompileNotes:
    """What a compile left behind. ``code`` is the generated source, one text per graph of AOTAutograd's.

    ``halves`` are these graphs, ``metadata`` its analysis of mutation and aliasing where it was loaded from
    its cache. Of a graph to be split: ``sequence`` are its pieces, or ``not_split`` says why it has none.
    """

    cache: str = "none"
    kernels: int | None = None
    code: list[str] = field(default_factory=list)
    halves: list[Half] = field(default_factory=list)
    metadata: Any = None
    sequence: PieceSequence | None = None
    not_split: str | None = None


class InnerCompiler:
    """``inner`` with torch.compile's ``mode`` and ``options``. Raises UsageError where it has none."""

    def __init__(
        self, inner: Inner = "inductor", mode: str | None = None, options: Mapping[str, Any] | None = None
    ):
        self.name = inner if isinstance(inner, str) else getattr(inner, "__name__", type(inner).__name__)
        self._inner = inner
        self._config: dict[str, Any] = {}
        if not isinstance(inner, str) and not callable(inner):
            raise UsageError(f"inner={inner!r} is neither the name of a compiler nor a callable")
        if inner == "inductor":
            self._config = dict(torch._TorchCompileInductorWrapper(mode, dict(options or {}), None).config)
        elif mode is not None or options is not None:
            raise UsageError(f"mode and options are Inductor's: inner={self.name!r} has none")
        elif inner not in ("eager", "aot_eager") and not callable(inner):
            self._inner = _registered(inner)

    @property
    def records_graphs(self) -> bool:
        """Whether Inductor records CUDA graphs of its own, as it does with mode="reduce-overhead"."""
        return bool(self._config.get("triton.cudagraphs"))

    def compile(self, graph: fx.GraphModule, arguments: Sequence[Any], notes: CompileNotes) -> Artifact:
        """Compile with concrete or private symbolic ``arguments``; owns and may change ``graph``."""
        if self._inner == "inductor":
            return self._inductor(graph, arguments, notes)
        if self._inner == "aot_eager":
            return _aot_eager(graph, arguments, notes.halves)
        if self._inner == "eager":
            return as_eager(graph)
        assert callable(self._inner)
        return self._inner(graph, arguments)

    def compile_plainly(self, graph: fx.GraphModule, arguments: Sequence[Any]) -> Artifact:
        """What torch.compile would do with this graph, in Dynamo's own context."""
        if self._inner == "inductor":
            from torch._inductor.compile_fx import compile_fx

            return compile_fx(graph, list(arguments), config_patches=self._config)  # type: ignore[no-any-return]
        if self._inner == "eager":
            return as_eager(graph)
        compiler = torch._dynamo.lookup_backend("aot_eager") if self._inner == "aot_eager" else self._inner
        return compiler(graph, list(arguments))  # type: ignore[operator]

    def _inductor(self, graph: fx.GraphModule, arguments: Sequence[Any], notes: CompileNotes) -> Artifact:
        from torch._inductor.compile_fx import compile_fx

        before = _InductorCounts.now()
        with _graphs_noted(notes):
            artifact = compile_fx(
                graph,
                list(arguments),
                config_patches=self._config,
                # Without it AOTAutograd turns every int argument into a symbol again.
                ignore_shape_env=True,
            )
        before.note_changes(notes)
        return artifact  # type: ignore[no-any-return]


def boxed_form(artifact: Artifact) -> Callable[[list[Any]], Any] | None:
    """What AOTAutograd's artifact calls with a list of its arguments; None for one that is not AOTAutograd's.

    A caller that has the arguments as a tuple hands the list in at the cost of building it, where the
    artifact itself would pack them twice on the way: with hundreds of parameters that is microseconds.
    """
    forward = getattr(artifact, "_torchdynamo_orig_callable", artifact)
    code = getattr(forward, "__code__", None)
    if code is None or getattr(forward, "__qualname__", "") != "aot_module_simplified.<locals>.forward":
        return None
    closure = getattr(forward, "__closure__", None) or ()
    cells = dict(zip(code.co_freevars, (each.cell_contents for each in closure), strict=True))
    compiled = cells.pop("compiled_fn", None)
    takes_tuple = bool(code.co_flags & inspect.CO_VARARGS)
    # Whatever else it closes over are the module's own tensors, which it would put before the arguments.
    return compiled if takes_tuple and callable(compiled) and not any(cells.values()) else None


def _registered(name: str) -> Inner:
    try:
        return torch._dynamo.lookup_backend(name)  # type: ignore[no-any-return]
    except Exception as error:
        raise UsageError(f"inner={name!r} is no compiler that torch knows: {error}") from None


def as_eager(graph: fx.GraphModule) -> Artifact:
    """The graph run node by node. A lazy graph, as Dynamo makes them, costs microseconds on each call."""
    from torch.fx._lazy_graph_module import _LazyGraphModule

    _LazyGraphModule.force_recompile(graph)
    forward: Artifact = graph.forward
    return forward


def _aot_eager(graph: fx.GraphModule, arguments: Sequence[Any], halves: list[Half]) -> Artifact:
    from functorch.compile import min_cut_rematerialization_partition  # type: ignore[import-untyped]
    from torch._dynamo.backends.common import aot_autograd

    def run_by(is_backward: bool) -> Callable[[fx.GraphModule, Any], NodeByNode]:
        def compile_graph(graph: fx.GraphModule, _inputs: Any) -> NodeByNode:
            halves.append(Half(NodeByNode(graph), is_backward))
            return halves[-1].graph  # type: ignore[no-any-return]

        return compile_graph

    compiler = aot_autograd(
        fw_compiler=run_by(is_backward=False),
        bw_compiler=run_by(is_backward=True),
        partition_fn=min_cut_rematerialization_partition,
        keep_inference_input_mutations=True,
        ignore_shape_env=True,
    )
    return compiler(graph, list(arguments))  # type: ignore[no-any-return]


def _what_runs(source_code: str) -> str:
    """The generated source without its running number and the benchmark at its end, which names the hint."""
    body = re.split(
        r"^def (?:get_args|benchmark_compiled_module)\(", source_code, maxsplit=1, flags=re.MULTILINE
    )[0]
    return re.sub(r"^# AOT ID: .*\n", "", body, flags=re.MULTILINE)


@contextmanager
def _graphs_noted(notes: CompileNotes) -> Iterator[None]:
    """Collect what this thread compiles or loads from a cache; a hit passes nowhere else."""
    from torch._functorch._aot_autograd.runtime_wrappers import RuntimeWrapper
    from torch._inductor.output_code import CompiledFxGraph

    def graph_made(graph: Any, *_: Any, **__: Any) -> None:
        notes.code.append(_what_runs(graph.source_code))
        notes.halves.append(Half(graph, bool(graph.fx_kwargs.get("is_backward"))))

    def wrapper_made(*_: Any, runtime_metadata: Any = None, **__: Any) -> None:
        notes.metadata = runtime_metadata

    with _told_of(CompiledFxGraph, graph_made), _told_of(RuntimeWrapper, wrapper_made):
        yield


@contextmanager
def _told_of(owner: Any, made: Callable[..., None]) -> Iterator[None]:
    """Call ``made`` with the arguments of each ``owner.post_compile`` of this thread, before it runs."""
    original = owner.post_compile
    thread = threading.get_ident()

    def post_compile(self: Any, *args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() == thread:
            made(self, *args, **kwargs)
        return original(self, *args, **kwargs)

    owner.post_compile = post_compile
    try:
        yield
    finally:
        # A profiler may have wrapped us meanwhile: then its wrapper goes on calling through ours.
        if owner.post_compile is post_compile:
            owner.post_compile = original


@dataclass(frozen=True, slots=True)
class _InductorCounts:
    """Inductor counts cache outcomes and kernels process-wide; the compile lock makes a difference ours."""

    outcomes: Counter[str]
    kernels: int

    @classmethod
    def now(cls) -> _InductorCounts:
        from torch._dynamo.utils import counters
        from torch._inductor import metrics

        outcomes: Counter[str] = Counter()
        for group, prefix in (("inductor", "fxgraph_cache_"), ("aot_autograd", "autograd_cache_")):
            for outcome in ("hit", "miss", "bypass"):
                outcomes[outcome] += counters[group][prefix + outcome]
        return cls(outcomes, metrics.generated_kernel_count)

    def note_changes(self, notes: CompileNotes) -> None:
        after = self.now()
        changed = after.outcomes - self.outcomes
        # An artifact is warm only if nothing of it had to be made.
        notes.cache = next((outcome for outcome in ("miss", "bypass", "hit") if changed[outcome]), "none")
        notes.kernels = after.kernels - self.kernels
