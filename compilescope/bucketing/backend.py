"""BucketedBackend: what torch.compile is given."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor

from compilescope import observer
from compilescope.bucketing._torch import current_compile_id
from compilescope.bucketing.census import Census
from compilescope.bucketing.compile import CapturedGraph
from compilescope.bucketing.entry import Entry, location_of
from compilescope.bucketing.explain import Explanation
from compilescope.bucketing.graphs import CudaGraphs
from compilescope.bucketing.identify import (
    PASSED_ON,
    TAG,
    BoundName,
    Dims,
    Placeholder,
    bind_names,
    check_dims,
    facts,
    placeholders,
    shape_env_of,
    symbols_of,
)
from compilescope.bucketing.options import Options, nearest, takes_options
from compilescope.bucketing.padding.contract import by_name
from compilescope.bucketing.piecewise import PiecewiseCompiler, SplitReport
from compilescope.bucketing.preconditions import bypass_reason
from compilescope.bucketing.state import GlobalState
from compilescope.errors import UsageError
from compilescope.ladder import BucketLadder, LadderProduct
from compilescope.observer import (
    BackendReset,
    DispatchCount,
    EntryCaptured,
    Event,
    WarmUpBegan,
    WarmUpEnded,
)

Ladder = BucketLadder | Mapping[str, BucketLadder] | LadderProduct

_WRITE = "Write BucketLadder.pins([256, 512]) | BucketLadder.range(1, 8192)."
_numbers = itertools.count(1)


class BucketedBackend:
    """Compile one trace many times: a static artifact per rung, dispatched by the sizes of each call.

    ``ladder`` is one ladder, or a mapping of symbol name to ladder; ``dims`` says which dimension of which
    argument each name is, e.g. ``{"x": {0: "tokens"}}``. The caller marks those dimensions dynamic, or uses
    :func:`bucketed`, which does. ``options`` are those of :class:`Options`.

    Raises UsageError (LadderError for ladders) at once, and nothing of its own on a call.
    """

    @takes_options
    def __init__(self, ladder: Ladder, dims: Dims, **options: Any) -> None:
        self.name = self.__name__ = f"bucketed-{next(_numbers)}"
        self.options = Options.named(options)
        check_dims(dims)
        self.dims = dims
        self.ladder = product_of(ladder, dims, self.options.only, self.options.budget)
        with_pads = [name for name, each in self.ladder.ladders if each.pad_rungs]
        self._contracts = by_name(self.options.pad, dims, with_pads)
        self._compiler = self.options.compiler()
        self._thread = threading.local()
        self._entries: list[Entry] = []
        self._bypassed: dict[int, list[int]] = {}
        self._retired: list[DispatchCount] = []
        self.census = Census()
        self._events: list[Event] = []
        self.graphs = self._own_graphs() if self.options.cuda_graphs else None
        self._bound: WeakKeyDictionary[Any, dict[str, BoundName]] = WeakKeyDictionary()
        self._next_entry = itertools.count()
        observer.announce(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, and what is unpickled, has compiled and counted nothing yet."""
        return functools.partial(BucketedBackend, **self.options.given()), (self.ladder, self.dims)

    def __call__(self, graph_module: fx.GraphModule, example_inputs: Sequence[Any]) -> Any:
        """Dynamo's protocol: a captured graph and real inputs to a callable."""
        number = next(self._next_entry)
        inputs = placeholders(graph_module)
        shape_env = shape_env_of(inputs)
        names: dict[str, BoundName] = {}
        try:
            names = self._bind(inputs, example_inputs, shape_env)
            bypassed = bypass_reason(graph_module, inputs, example_inputs, names)
        except Exception as error:
            # Whatever a later torch changes under us, the user's program gets its compiled graph.
            bypassed = f"the graph could not be analyzed: {type(error).__name__}: {error}"
        self._report(self._captured_event(number, graph_module, inputs, shape_env, names, bypassed))
        if bypassed is not None:
            return self._bypass(number, graph_module, example_inputs)
        captured = CapturedGraph.of(graph_module, inputs, example_inputs, shape_env, current_compile_id())
        entry = Entry(
            self.name,
            number,
            captured,
            names,
            self.ladder,
            self._compiler,
            self._report,
            self._unarmed,
            self.graphs,
            self._contracts,
            self.options.verify,
            self.options.fallback == "dynamic",
            self.census.flag,
        )
        self._entries.append(entry)
        if self.options.build == "capture" and not self._is_warming:
            # The pieces of a graph that was cut for DDP come with fakes, and whoever cut it expects metadata
            # of a compile in its own context: they are built by their first real call.
            entry.builds_on_call = _has_fakes(example_inputs)
            if not entry.builds_on_call:
                entry.build()
        return entry.dispatch.function

    def explain(self) -> Explanation:
        """Entry by rung: sizes, kernels, compile seconds, cache outcome, hits, fallbacks, refusals."""
        pending = {entry.number: [job.label for job in list(entry.pending)] for entry in list(self._entries)}
        return Explanation.of(self.events(), self.dispatch_counts(), pending, self.census)

    def events(self) -> list[Event]:
        return list(self._events)

    def dispatch_counts(self) -> list[DispatchCount]:
        bypassed = [
            DispatchCount(self.name, number, "bypassed", "bypassed", (), (), calls[0])
            for number, calls in list(self._bypassed.items())
        ]
        live = [count for entry in list(self._entries) for count in entry.dispatch_counts()]
        return [*self._retired, *live, *bypassed]

    @property
    def splits(self) -> tuple[SplitReport, ...]:
        """How each compile was split at ``split_ops``, or why it was not, oldest first."""
        return tuple(self._compiler.reports) if isinstance(self._compiler, PiecewiseCompiler) else ()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The captured graphs that have rungs, oldest first."""
        return tuple(self._entries)

    def reset(self) -> None:
        """Called by ``torch._dynamo.reset()``: forget the captured graphs, keep what was counted."""
        self._retired += [count for entry in self._entries for count in entry.dispatch_counts()]
        self._report(BackendReset(self.name, len(self._entries)))
        self._entries.clear()
        self.census.forget_warmed()
        if self.graphs is not None:
            self.graphs.clear()
        if isinstance(self._compiler, PiecewiseCompiler):
            self._compiler.forget()

    @contextmanager
    def warming(self) -> Iterator[None]:
        """Within it this thread's calls run eagerly and uncounted, and graphs it captures stay pending."""
        for entry in self._entries:
            entry.dispatch.disarm()
        self._thread.warming = True
        self.census.seen.ran.clear()
        try:
            with self._calls_itself():
                yield
        finally:
            self._thread.warming = False

    @contextmanager
    def comparing(self) -> Iterator[None]:
        """Within it this thread's calls compare padded rungs with the unpadded graph, uncounted."""
        for entry in self._entries:
            entry.dispatch.disarm()
        self._thread.comparing = True
        try:
            with self._calls_itself():
                yield
        finally:
            self._thread.comparing = False
            self.arm()

    @contextmanager
    def _calls_itself(self) -> Iterator[None]:
        """Told to who observes, so that these calls are not taken for the program's."""
        observer.emit(WarmUpBegan(self.name))
        try:
            yield
        finally:
            observer.emit(WarmUpEnded(self.name))

    @property
    def verifies(self) -> bool:
        """Whether padded rungs are compared before they serve."""
        return self.options.verify

    def arm(self) -> None:
        """Serve every call with what has been built so far."""
        for entry in self._entries:
            entry.dispatch.arm()

    @property
    def _is_warming(self) -> bool:
        return getattr(self._thread, "warming", False)

    def _unarmed(self, entry: Entry, arguments: tuple[Any, ...]) -> Any:
        if getattr(self._thread, "comparing", False):
            return entry.compare_padded(arguments)
        if self._is_warming:
            self.census.seen.ran.append(entry)
            self.census.seen.graphs_run += 1
        if self._is_warming or _has_fakes(arguments):
            outputs = entry.eager(*arguments)
        else:
            outputs = entry.first_calls(arguments)
        _tag_outputs(entry, outputs)
        return outputs

    def _bind(
        self, inputs: tuple[Placeholder, ...], example_inputs: Sequence[Any], shape_env: Any
    ) -> dict[str, BoundName]:
        """The names of this graph; a later piece of a graph that was cut for DDP has those of the first."""
        names = bind_names(inputs, example_inputs, self.dims, self.ladder.names)
        if shape_env is None:
            return names
        if names:
            self._bound[shape_env] = names
            return names
        here = set(symbols_of(inputs))
        earlier = self._bound.get(shape_env, {})
        return {name: bound for name, bound in earlier.items() if here.issuperset(bound.symbols)}

    def _own_graphs(self) -> CudaGraphs:
        if self._compiler.records_graphs:
            raise UsageError("cuda_graphs=True, and the mode or options make Inductor record graphs too")
        runs_eagerly = None
        if self.options.cuda_graphs == "pieces":
            if not isinstance(self._compiler, PiecewiseCompiler):
                raise UsageError(
                    "cuda_graphs='pieces' records what lies between split_ops, and there are none",
                    hint="Give split_ops, or cuda_graphs=True to record each rung whole.",
                )
            runs_eagerly = self._compiler.matches
        return CudaGraphs(
            self.name,
            self._report,
            clone_outputs=self.options.clone_outputs,
            share_code=self.options.cuda_graphs == "shared",
            runs_eagerly=runs_eagerly,
        )

    def _bypass(self, number: int, graph_module: fx.GraphModule, example_inputs: Sequence[Any]) -> Any:
        calls = self._bypassed[number] = [0]
        seen, flag = self.census.seen, self.census.flag
        compiled = self._compiler.compile_plainly(graph_module, example_inputs)

        def bypassed(*arguments: Any) -> Any:
            flag.served = True
            if self._is_warming:
                seen.graphs_run += 1
            else:
                calls[0] += 1
            return compiled(*arguments)

        return bypassed

    def _captured_event(
        self,
        number: int,
        graph_module: fx.GraphModule,
        inputs: tuple[Placeholder, ...],
        shape_env: Any,
        names: Mapping[str, BoundName],
        bypassed: str | None,
    ) -> EntryCaptured:
        compile_id = current_compile_id()
        state = GlobalState.now()
        return EntryCaptured(
            backend=self.name,
            entry=number,
            compile_id=None if compile_id is None else str(compile_id),
            location=location_of(graph_module),
            grad_enabled=state.grad_enabled,
            state=str(state),
            symbols=() if shape_env is None else facts(shape_env, symbols_of(inputs), names),
            bypassed=bypassed,
        )

    def _report(self, event: Event) -> None:
        self._events.append(event)
        observer.emit(event)


def product_of(
    ladder: Ladder, dims: Dims, only: Sequence[Mapping[str, int]] | None, budget: int | None
) -> LadderProduct:
    """``ladder`` in its general form, checked against ``dims``. Raises UsageError."""
    if only is not None and not only:
        raise UsageError("only=[] leaves no combination", hint="Leave it out to make all of them.")
    if isinstance(ladder, LadderProduct):
        product = ladder
    else:
        limits = {} if budget is None else {"budget": budget}
        product = LadderProduct.of(_by_name(ladder, dims), only, **limits)
    named = {name for by_dim in dims.values() for name in by_dim.values() if name is not None}
    missing = [name for name in product.names if name not in named]
    if missing:
        raise UsageError(f"no dimension in dims is named {missing[0]!r}, which has a ladder")
    for name in sorted(named.difference(product.names)):
        near = nearest(name, product.names)
        if near is not None:
            hint = f"Did you mean {near!r}? None marks a dimension that varies and has no ladder."
            raise UsageError(f"dims names {name!r}, which has no ladder", hint=hint)
    return product


def _by_name(ladder: Any, dims: Dims) -> Mapping[str, BucketLadder]:
    if isinstance(ladder, Mapping):
        for name, each in ladder.items():
            if not isinstance(each, BucketLadder):
                raise UsageError(f"the ladder of {name!r} is {each!r}", hint=_WRITE)
        return ladder
    if not isinstance(ladder, BucketLadder):
        raise UsageError(f"the ladder is {ladder!r}", hint=_WRITE)
    names = list(dict.fromkeys(name for by_dim in dims.values() for name in by_dim.values() if name))
    if not names:
        raise UsageError("dims names no dimension", hint='Write dims={"x": {0: "tokens"}}.')
    if len(names) != 1:
        raise UsageError(
            f"one ladder, but dims has {len(names)} names: {', '.join(names) or 'none'}",
            hint='Give each its own: ladder={"batch": ..., "tokens": ...}',
        )
    return {names[0]: ladder}


def _has_fakes(values: Sequence[Any]) -> bool:
    return any(isinstance(value, FakeTensor) for value in values)


def _tag_outputs(entry: Entry, outputs: Sequence[Any]) -> None:
    """Tell the graph behind a graph break, which is about to be captured, which of its sizes are bucketed."""
    for position, dims in entry.output_names:
        tensor = outputs[position]
        if isinstance(tensor, torch.Tensor) and not isinstance(tensor, torch.nn.Parameter):
            setattr(tensor, TAG, dims)
            setattr(tensor, PASSED_ON, True)
            torch._dynamo.maybe_mark_dynamic(tensor, list(dims))
