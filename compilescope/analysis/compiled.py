"""Below Dynamo: which generated code belongs to which graph, read for as many graphs as the report shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from compilescope.analysis import kernel_rows as made
from compilescope.analysis import lengths, report
from compilescope.analysis.autotune_rows import autotune_row
from compilescope.analysis.bundles import triton_bundle
from compilescope.analysis.index import Index
from compilescope.model import CompileId
from compilescope.model.inductor import (
    AotSource,
    Autotuning,
    CompiledGraph,
    GraphSource,
    InductorFacts,
    Lookup,
    TritonTuning,
    read_aot,
    read_graph,
)
from compilescope.model.inductor.read import CPP_WRAPPER, NO_CODE, NOT_PYTHON

UNREAD_CODE = f"the generated code of the first {lengths.GRAPHS_READ} graphs is read"
_CAPPED = f"{UNREAD_CODE}; this one comes after them"
_BUCKETED = "each rung of the ladder is compiled by itself: see buckets"
_SHARED = "the compile has several graphs: what was made of them is in the first one"
_WITHIN = "compiled as a part of the forward, or taken from the cache with it"
_EAGER_BACKENDS = frozenset(  # they run operators one by one: no code is generated
    ("eager", "eager_noexcept", "aot_eager", "aot_eager_decomp_partition", "aot_eager_default_partitioner")
)


@dataclass(slots=True)
class Budget:
    """How many more graphs may be read, over all processes of a report."""

    left: int = field(default_factory=lambda: lengths.GRAPHS_READ)

    def take(self) -> bool:
        self.left -= 1
        return self.left >= 0


class Compiled:
    """The Inductor graphs of one process by compile."""

    def __init__(self, index: Index, budget: Budget) -> None:
        self._index = index
        self._budget = budget
        detail = index.process.detail
        self._facts: InductorFacts | None = detail.inductor if detail is not None else None
        self._calls: Mapping[int, int] = detail.inductor_calls if detail is not None else {}
        self._sources: dict[CompileId, list[GraphSource]] = defaultdict(list)
        self._aot: dict[CompileId, AotSource] = {}
        self._lookups: dict[CompileId, list[Lookup]] = defaultdict(list)
        self._backward_s: dict[CompileId, float] = defaultdict(float)
        for phase in detail.phases if detail is not None else ():
            if phase.backward and not phase.parallel and phase.compile is not None:
                self._backward_s[phase.compile] += phase.exclusive_s
        self._bucketed = {event.compile for event in index.process.bucket_events}
        if self._facts is not None:
            for source in self._facts.graphs:
                self._sources[_compile_id(source.key)].append(source)
            for key, aot in self._facts.aot:
                self._aot.setdefault(_compile_id(key), aot)
            for lookup in self._facts.lookups:
                if lookup.key is not None:
                    self._lookups[_compile_id(lookup.key)].append(lookup)

    def rows(self, row: report.Graph, compile_id: CompileId, *, first: bool) -> list[report.Graph]:
        """The graph's row with what was made of it, and a row for each of its backward graphs.

        ``first``: of the graphs of its compile; further ones of the same compile share what is known.
        """
        if self._facts is None:
            return [row]
        if not first or compile_id in self._bucketed:
            reason = _BUCKETED if first else _SHARED
            row = replace(row, autotune=self._of_rungs(row, compile_id)) if first else row
            return [replace(row, missing=[*row.missing, report.Missing("kernels", reason)])]
        sources = self._sources.get(compile_id, [])
        if not self._budget.take():
            return [replace(row, missing=[*row.missing, report.Missing("kernels", _CAPPED)])]
        graphs = list(zip(sources, self._read(sources), strict=True))
        forward = [(s, g) for s, g in graphs if g.direction != "backward"]
        backward = [(s, g) for s, g in graphs if g.direction == "backward"]
        row = self._forward(row, compile_id, forward, [graph for _, graph in backward])
        return [row, *(self._backward(row, compile_id, source, graph) for source, graph in backward)]

    def _of_rungs(self, row: report.Graph, compile_id: CompileId) -> list[report.Autotuning]:
        """Choices of a bucketed backend: the kernels of the same rung tell what became of each."""
        read: dict[object, list[CompiledGraph]] = {}
        found = []
        for tuning in self._tunings(compile_id):
            if tuning.rung not in read:
                own = [source for source in self._sources.get(compile_id, ()) if source.rung == tuning.rung]
                read[tuning.rung] = self._read(own) if self._budget.take() else []
            graphs = read[tuning.rung]
            hints = _hints(row) | {k: v for graph in graphs for k, v in graph.hints.items()}
            found.append(autotune_row(self._index, tuning, hints, graphs))
        return found

    def _tunings(self, compile_id: CompileId) -> Sequence[Autotuning]:
        key = (compile_id.autograd, compile_id.epoch, compile_id.frame, compile_id.recompile)
        return self._facts.autotunings.get(key, ()) if self._facts else ()

    def _configurations(self, graphs: Iterable[CompiledGraph]) -> list[TritonTuning]:
        keys = {graph.key for graph in graphs}
        return [t for t in (self._facts.triton_tunings if self._facts else ()) if t.key in keys]

    def _read(self, sources: Iterable[GraphSource]) -> list[CompiledGraph]:
        detail = self._index.process.detail
        file = detail.files if detail is not None else lambda _: None
        return [read_graph(source, file) for source in sources]

    def _forward(
        self,
        row: report.Graph,
        compile_id: CompileId,
        graphs: list[tuple[GraphSource, CompiledGraph]],
        backward: list[CompiledGraph],
    ) -> report.Graph:
        aot = graphs[0][0].aot if graphs else self._aot.get(compile_id)
        hints = {k: v for _, g in graphs for k, v in g.hints.items()} | _hints(row)
        every = [*(graph for _, graph in graphs), *backward]
        row = replace(
            row, autotune=[autotune_row(self._index, t, hints, every) for t in self._tunings(compile_id)]
        )
        if aot is not None and aot.texts:
            row = replace(row, aot=made.aot_row(self._index, read_aot(aot), hints, made.lines_by_node(every)))
        row = replace(row, cache_outcomes=self._outcomes(compile_id))
        if not graphs and row.backend in _EAGER_BACKENDS:
            return replace(row, kernels={}, kernel_count=0)
        if not graphs:
            return replace(row, missing=[*row.missing, report.Missing("kernels", NO_CODE)])
        return self._filled(row, [graph for _, graph in graphs])

    def _backward(
        self, row: report.Graph, compile_id: CompileId, source: GraphSource, graph: CompiledGraph
    ) -> report.Graph:
        compiled = self._index.process.compiles.get(compile_id)
        lazily = compiled is not None and compiled.backward_s > 0
        how = "from the cache" if source.cache == "hit" else "lazily" if lazily else "with the forward"
        calls = self._calls.get(graph.serial, 0) if graph.serial is not None else None
        missing = [] if calls is not None else [report.Missing("calls", self._index.why_uncounted())]
        seconds = self._backward_s.get(compile_id)
        if compiled is not None and lazily:
            seconds = compiled.backward_s
        if seconds is None:
            missing.append(report.Missing("compile_s", _WITHIN))
        ops = row.aot.backward_ops if row.aot else None
        if ops is None:
            missing.append(report.Missing("ops", "AOTAutograd's graph is not in the recording"))
        blank = report.Graph(
            epoch=row.epoch,
            compile_id=row.compile_id,
            function=row.function,
            file=row.file,
            line=row.line,
            ops=ops,
            calls=calls,
            backward=True,
            compile_s=round(seconds, 6) if seconds is not None else None,
            process=row.process,
            sizes_seen=[],  # they are counted where the forward is called
            backend=row.backend,
            backward_compiled=how,
            missing=[
                m for m in missing if m.fact != "ops" or row.aot is None or row.aot.backward_ops is None
            ],
        )
        return self._filled(blank, [graph])

    def _filled(self, row: report.Graph, graphs: list[CompiledGraph]) -> report.Graph:
        largest = max(graphs, key=lambda graph: len(graph.kernels))
        told = {why for graph in graphs for why in graph.missing}
        reasons = (NO_CODE, NOT_PYTHON, CPP_WRAPPER)
        missing = [report.Missing("kernels", why) for why in reasons if why in told]
        if len(graphs) > 1:
            why = f"the compile made {len(graphs)} graphs: fusion and memory are those of the largest"
            missing.append(report.Missing("fusion and memory of every part", why))
        more: dict[str, int] = {}
        return replace(
            row,
            direction=largest.direction if largest.direction != "unknown" else None,
            kernels=made.families(graphs),
            kernel_rows=made.kernel_rows(self._index, graphs, self._configurations(graphs), more),
            kernel_count=sum(len(graph.kernels) for graph in graphs),
            fusion=made.fusion_row(self._index, largest),
            memory=made.memory_row(self._index, largest),
            crossings=made.crossing_rows(self._index, graphs, more),
            decompositions=made.decomposition_rows(self._index, graphs, more),
            code=largest.code,
            missing=[*row.missing, *missing],
            more=more,
        )

    def _outcomes(self, compile_id: CompileId) -> list[report.CacheOutcome]:
        lookups = self._lookups.get(compile_id, ())
        read = (lookup.read() for lookup in lookups)
        rows = [
            row
            for outcome in read
            if outcome is not None
            for row in (made.cache_row(outcome), triton_bundle(outcome))
        ]
        return [row for row in rows if row is not None]


def _compile_id(key: tuple[int, int, int, int]) -> CompileId:
    autograd, epoch, frame, recompile = key
    return CompileId(epoch, frame, recompile, autograd)


def _hints(row: report.Graph) -> dict[str, int]:
    return {p.expr: p.hint for p in row.placeholders if p.expr and isinstance(p.hint, int)}
