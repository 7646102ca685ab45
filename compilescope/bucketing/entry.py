"""One graph that Dynamo captured: it owns the rungs its guards admit, their artifacts and their counters."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import fx

from compilescope.bucketing._torch import compile_lock, hint_of, user_line
from compilescope.bucketing.census import Flag
from compilescope.bucketing.compile import CapturedGraph, CompiledRung, at_sizes, compile_rung
from compilescope.bucketing.concretize import literal_copy
from compilescope.bucketing.dispatch import Dispatch, PadRung, Served
from compilescope.bucketing.gaps import gap
from compilescope.bucketing.graphs import CudaGraphs
from compilescope.bucketing.guards import UnreachableGuardError, admitted_range, violation
from compilescope.bucketing.identify import BoundName, symbols_of, traced_value
from compilescope.bucketing.inner import Artifact, InnerCompiler, as_eager
from compilescope.bucketing.padding.call import PaddedCall
from compilescope.bucketing.padding.contract import PaddingRefusedError
from compilescope.bucketing.padding.rungs import Contracts, EntryPadding
from compilescope.bucketing.padding.verify import FirstCall, difference
from compilescope.bucketing.plan import Job, Refusal, Span, plan, remainder
from compilescope.ladder import LadderProduct
from compilescope.observer import DispatchCount, Event, RungCompiled, RungFailed, RungRefused, RungVerified

_log = logging.getLogger(__name__)

MAX_SPLITS = 8
"""Into how many parts a range may fall; what is left then is served by the next step of the chain."""

TAGGED_CALLS = 8
"""First calls, behind which a next graph may be captured: an int becomes symbolic at its second value."""

_OUTCOMES = {"pin": "exact", "pad": "padded", "range": "range", "dynamic": "dynamic"}

_STATIC = ("pin", "pad")


class Entry:
    """``pending`` holds the jobs that are not built yet; an interrupt leaves the job it hit in place."""

    def __init__(
        self,
        backend: str,
        number: int,
        captured: CapturedGraph,
        names: Mapping[str, BoundName],
        ladder: LadderProduct,
        compiler: InnerCompiler,
        report: Callable[[Event], None],
        unarmed: Callable[[Entry, tuple[Any, ...]], Any],
        graphs: CudaGraphs | None = None,
        contracts: Contracts | None = None,
        verify: bool = False,
        with_dynamic: bool = True,
        flag: Flag | None = None,
    ) -> None:
        self.backend = backend
        self.number = number
        self.state = captured.state
        self.location = location_of(captured.graph_module)
        self.frame = getattr(captured.compile_id, "frame_id", None)
        self.output_names = _named_outputs(captured.graph_module, names)
        self.eager = as_eager(literal_copy(captured.graph_module, {}))
        self.builds_on_call = False
        self.pending: deque[Job] = deque()
        self.admitted: set[str] = set()
        self.refused: dict[str, RungRefused] = {}
        self._names = tuple(name for name, bound in names.items() if bound.symbols)
        self._symbols = tuple(dict.fromkeys(s for bound in names.values() for s in bound.symbols))
        self._key_positions = tuple(self._symbols.index(names[name].symbols[0]) for name in self._names)
        self._symbols_of = {name: bound.symbols for name, bound in names.items()}
        self._captured: CapturedGraph | None = captured
        self._compiler = compiler
        self._graphs = graphs
        self._padding = EntryPadding(captured, names, contracts or {}, verified=verify)
        self._verify = verify
        self._report = report
        self._shared: dict[tuple[str, ...], tuple[str, Any]] = {}
        self._dynamic: list[tuple[str, CompiledRung, tuple[str, ...]]] = []
        self._splits = 0
        self._covered: dict[str, list[tuple[str, ...]]] = {}
        self._tagged_calls = 0
        self.dispatch = Dispatch(
            [captured.reach[symbol] for symbol in self._symbols],
            Served("eager", "eager", self.eager),
            lambda *arguments: unarmed(self, arguments),
            flag,
        )
        symbols = symbols_of(captured.inputs)
        for step in plan(ladder, names, symbols, captured.shape_env, self._padding.refused, with_dynamic):
            self._schedule(step)
        if graphs is not None and graphs.share_code:
            self.pending.rotate(1)  # the dynamic one, planned last, is what the others share

    def build(self, before_job: Callable[[Entry, Job], None] | None = None) -> None:
        """Compile what is pending, one rung after the other; one that fails is reported and left out."""
        with compile_lock():
            while self.pending:
                if before_job is not None:
                    before_job(self, self.pending[0])
                self._build_next(self.pending[0])
            self._captured = None

    def first_calls(self, arguments: tuple[Any, ...]) -> Any:
        """Serve one of the calls whose outputs are tagged; later ones are dispatched directly."""
        if self.builds_on_call:
            self.build()
        if self._tagged_calls == 0:
            self.dispatch.prepare()
        outputs = self.dispatch.armed(*arguments)
        self._tagged_calls += 1
        if self._tagged_calls >= TAGGED_CALLS or not self.output_names:
            self.dispatch.arm()
        return outputs

    def compare_padded(self, arguments: tuple[Any, ...]) -> Any:
        """Serve the unpadded graph's result; see before whether the pad that would serve gives the same."""
        sizes = self.dispatch.sizes(arguments)
        rung = self.dispatch.padding(sizes)
        if rung is not None and self._verify:
            self._judge(
                rung,
                *difference(self.eager, rung.served.artifact, arguments, grad=self.state.grad_enabled),
                sizes,
            )
        return self.eager(*arguments)

    def admits(self, sizes: Mapping[str, int]) -> bool:
        """Whether the trace's guards allow these sizes; of what has been built it is not known any more."""
        if self._captured is None:
            return True
        values = {symbol: size for name, size in sizes.items() for symbol in self._sized_like(name)}
        return violation(self._captured.shape_env, values) is None

    def admitted_span(self, name: str) -> Span | None:
        """The least and the largest size of a name that the trace allows; None where nothing says it."""
        span: Span | None = None
        for symbol in self._sized_like(name):
            span = admitted_range(self._captured.shape_env, symbol, *(span or (0, None)))  # type: ignore[union-attr]
        return span

    def _sized_like(self, name: str) -> list[Any]:
        """A name's symbols, and those of other tensors that had its size: a guard may be on one whose values
        the graph does not take, as behind a graph break."""
        symbols = self._symbols_of.get(name, ())
        if self._captured is None or not symbols:
            return []
        env = self._captured.shape_env
        size = hint_of(env, symbols[0])
        others = [each for each in env.var_to_range if each not in symbols and hint_of(env, each) == size]
        return [*symbols, *others]

    def dispatch_counts(self) -> list[DispatchCount]:
        return [
            DispatchCount(self.backend, self.number, rung, outcome, self._names, self._sizes(key), count)
            for rung, outcome, key, count in self.dispatch.counted()
        ]

    def _sizes(self, key: Any) -> tuple[int, ...] | None:
        values = self.dispatch.values(key)
        return None if values is None else tuple(values[position] for position in self._key_positions)

    def _schedule(self, step: Job | Refusal) -> None:
        if isinstance(step, Job):
            self.pending.append(step)
            self.admitted.add(step.label)
        else:
            self._refuse(step)

    def _refuse(self, refusal: Refusal) -> None:
        violated = refusal.violated
        event = RungRefused(
            self.backend,
            self.number,
            refusal.label,
            refusal.kind,
            refusal.reason,
            violated.guard if violated else None,
            refusal.user_line,
        )
        self.refused[refusal.label] = event
        self._report(event)

    def _build_next(self, job: Job) -> None:
        assert self._captured is not None
        started = time.perf_counter()
        parts: list[Job | Refusal] = []
        try:
            self._padding.check_sizes(job.padded, job.sizes)
            compiled = self._of_dynamic(job) or compile_rung(
                self._captured, self._compiler, job.sizes, job.hints, job.spans
            )
            parts = self._accept(job, compiled)
        except PaddingRefusedError as refused:
            self._refuse(Refusal(job.label, job.kind, refused.reason, at_line=refused.user_line))
        except UnreachableGuardError as unreachable:
            self._refuse(Refusal(job.label, job.kind, f"its guards cannot be checked: {unreachable}"))
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            wall_s = time.perf_counter() - started
            _log.warning("rung %s of entry %d failed to compile: %s", job.label, self.number, text)
            self._report(RungFailed(self.backend, self.number, job.label, job.kind, text, wall_s))
        self.pending.popleft()
        for part in parts:
            if isinstance(part, Job):
                self.pending.appendleft(part)
            else:
                self._refuse(part)

    def _accept(self, job: Job, compiled: CompiledRung) -> list[Job | Refusal]:
        assert self._captured is not None
        spans, parts = self._valid_spans(job, compiled)
        artifact, same_code_as = self._artifact(job, compiled)
        if self._graphs is not None:
            artifact = self._graphs.wrap(self.number, job.label, self._captured, compiled, artifact)
        conditions = tuple(dict.fromkeys((*self._span_terms(spans), *compiled.predicate)))
        parts += self._left_out(replace(job, spans=spans), conditions)
        if job.kind == "dynamic":
            self._dynamic.append((job.label, compiled, conditions))
        served = Served(job.label, _OUTCOMES[job.kind], artifact, conditions)
        padded: PaddedCall | None = None
        if job.kind == "pad":
            padded = self._padding.call(self._captured, job.padded, job.sizes, artifact)
            self._add_pad(job, padded.function, served)
        elif job.kind == "pin":
            self.dispatch.add_pin([job.sizes.get(symbol) for symbol in self._symbols], served)
        else:
            self.dispatch.add_step(served)
        self._report(self._compiled_event(job, compiled, spans, same_code_as, padded))
        return parts

    def _add_pad(self, job: Job, padded: Artifact, served: Served) -> None:
        """Its own size needs no padding; smaller ones go through the padded call."""
        sizes = [job.sizes.get(symbol) for symbol in self._symbols]
        self.dispatch.add_pin(sizes, Served(job.label, "exact", served.artifact, served.predicate))
        padded_symbols = {symbol for name in job.padded for symbol in self._symbols_of[name]}
        is_padded = [symbol in padded_symbols for symbol in self._symbols]
        rung = PadRung(
            Served(job.label, "padded", padded, (*self._equalities(job.padded), *served.predicate)),
            tuple(size if wide else None for size, wide in zip(sizes, is_padded, strict=True)),
            tuple(None if wide else size for size, wide in zip(sizes, is_padded, strict=True)),
        )
        if self._verify:
            self._check_first(rung)
        self.dispatch.add_pad(rung)

    def _equalities(self, names: Iterable[str]) -> list[str]:
        """Sizes of one name that the graph does not know to be equal, and that padding takes to be."""
        assert self._captured is not None
        reach = self._captured.reach
        symbols = [self._symbols_of[name] for name in names]
        return [f"{reach[first]} == {reach[other]}" for first, *others in symbols for other in others]

    def _check_first(self, rung: PadRung) -> None:
        def outcome(found: str | None, worst: float) -> None:
            self._judge(rung, found, worst, None)

        rung.check = FirstCall(self.eager, rung.served.artifact, self.state.grad_enabled, outcome)

    def _judge(self, rung: PadRung, found: str | None, worst: float, sizes: tuple[int, ...] | None) -> None:
        label = rung.served.rung
        if found is not None:
            self.dispatch.drop_pad(rung)
            _log.warning("pad %s of entry %d is refused: %s", label, self.number, found)
            self._refuse(Refusal(label, "pad", f"padded and unpadded disagree: {found}"))
            return
        rung.check = None
        self.dispatch.pads_changed()
        named = (
            ()
            if sizes is None
            else tuple(zip(self._names, (sizes[p] for p in self._key_positions), strict=True))
        )
        self._report(RungVerified(self.backend, self.number, label, named, worst))

    def _of_dynamic(self, job: Job) -> CompiledRung | None:
        """A static rung that is a dynamic artifact, recorded at its sizes; None where it needs its own."""
        assert self._captured is not None
        if self._graphs is None or not self._graphs.share_code or job.kind not in _STATIC:
            return None
        for label, compiled, conditions in self._dynamic:
            shared = at_sizes(self._captured, compiled, label, conditions, job.sizes)
            if shared is not None and self._graphs.skip_reason(self._captured, shared) is None:
                return shared
        return None

    def _valid_spans(
        self, job: Job, compiled: CompiledRung
    ) -> tuple[dict[Any, tuple[int, int | None]], list[Job | Refusal]]:
        """The sizes the code is really valid for, and the rest of what was asked for as further jobs."""
        assert self._captured is not None
        spans = dict(job.spans)
        parts: list[Job | Refusal] = []
        for symbol, (low, high) in job.spans.items():
            valid_low, valid_high = compiled.valid_span(symbol)
            spans[symbol] = (max(low, valid_low), valid_high if high is None else _least(high, valid_high))
            if not parts and spans[symbol] != (low, high) and self._splits < MAX_SPLITS:
                parts = list(remainder(job, symbol, spans[symbol], self._captured.shape_env))
                self._splits += len(parts)
        return spans, parts

    def _left_out(self, job: Job, conditions: tuple[str, ...]) -> list[Job | Refusal]:
        """A further job for sizes of the range that the code is not for although its span holds them."""
        assert self._captured is not None
        covered = self._covered.setdefault(job.split_from or job.label, [])
        covered.append(conditions)
        if self._splits >= MAX_SPLITS:
            return []
        part = gap(job, covered, self._captured.reach, self._captured.shape_env)
        self._splits += part is not None
        return [] if part is None else [part]

    def _artifact(self, job: Job, compiled: CompiledRung) -> tuple[Any, str | None]:
        """Ranges often yield the very same code: they share one artifact."""
        code = tuple(compiled.notes.code)
        if job.kind in _STATIC or not all(code):
            return compiled.artifact, compiled.same_code_as
        label, artifact = (
            self._shared.setdefault(code, (job.label, compiled.artifact)) if code else ("", None)
        )
        if artifact is None or label == job.label:
            return compiled.artifact, None
        return artifact, label

    def _span_terms(self, spans: Mapping[Any, tuple[int, int | None]]) -> list[str]:
        assert self._captured is not None
        terms = []
        for symbol, (low, high) in spans.items():
            value = self._captured.reach.get(symbol)
            if value is not None and symbol in self._symbols:
                terms.append(f"{low} <= {value}" if high is None else f"{low} <= {value} <= {high}")
        return terms

    def _compiled_event(
        self,
        job: Job,
        compiled: CompiledRung,
        spans: Mapping[Any, tuple[int, int | None]],
        same_code_as: str | None,
        padded: PaddedCall | None,
    ) -> RungCompiled:
        bounds: dict[Any, tuple[int, int | None]] = {s: (size, size) for s, size in job.sizes.items()}
        bounds |= spans
        firsts = {name: self._symbols[i] for name, i in zip(self._names, self._key_positions, strict=True)}
        return RungCompiled(
            backend=self.backend,
            entry=self.number,
            rung=job.label,
            kind=job.kind,
            sizes=tuple((name, *bounds[symbol]) for name, symbol in firsts.items() if symbol in bounds),
            hints=tuple((name, job.hints[symbol]) for name, symbol in firsts.items() if symbol in job.hints),
            inputs=compiled.world.layouts,
            wall_s=compiled.wall_s,
            cache=compiled.notes.cache,
            kernels=compiled.notes.kernels,
            predicate=self._readable(compiled.predicate, spans),
            same_code_as=same_code_as,
            split_from=job.split_from,
            copied_bytes=padded.copied_bytes(dict(zip(firsts.values(), firsts, strict=True)))
            if padded
            else None,
            random=self._padding.random(job.padded),
        )

    def _readable(self, predicate: Iterable[str], spans: Mapping[Any, Any]) -> tuple[str, ...]:
        """The predicate over names and symbols, without what the sizes already say."""
        assert self._captured is not None
        reach = self._captured.reach
        said = {
            f"{reach[s]} {op} {bound}"
            for s in spans
            if s in reach
            for op, bound in zip((">=", "<="), spans[s], strict=True)
        }
        names = {self._symbols[i]: name for name, i in zip(self._names, self._key_positions, strict=True)}
        terms = [term for term in predicate if term not in said]
        for symbol, accessor in reach.items():
            terms = [term.replace(accessor, names.get(symbol, str(symbol))) for term in terms]
        return tuple(terms)


def location_of(graph_module: fx.GraphModule) -> str | None:
    """'file.py:12 in forward' of the first line of the user's that the graph comes from."""
    for node in graph_module.graph.nodes:
        found = user_line(node.stack_trace)
        if found is not None:
            return f"{found.path}:{found.line} in {found.function}"
    return None


def _named_outputs(
    graph_module: fx.GraphModule, names: Mapping[str, BoundName]
) -> list[tuple[int, dict[int, str]]]:
    """Which dimensions of which outputs are a bucketed symbol, for the graph that follows a break."""
    owner = {symbol: name for name, bound in names.items() for symbol in bound.symbols}
    output = next(node for node in graph_module.graph.nodes if node.op == "output")
    found = []
    for position, node in enumerate(output.args[0]):
        value = traced_value(node) if isinstance(node, fx.Node) else None
        if isinstance(value, torch.Tensor):
            sizes = enumerate(value.shape)
            dims = {
                dim: owner[size.node.expr]
                for dim, size in sizes
                if isinstance(size, torch.SymInt) and size.node.expr in owner
            }
            if dims:
                found.append((position, dims))
    return found


def _least(first: int, second: int | None) -> int:
    return first if second is None else min(first, second)
