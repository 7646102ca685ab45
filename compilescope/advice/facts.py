"""What rules look at: the rows of a report, each with its name, and the few facts a report does not show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

from compilescope.advice.op_check import OpCheck
from compilescope.advice.sources import Sources
from compilescope.analysis.report import (
    Failure,
    Frame,
    Graph,
    GraphBreak,
    LimitHit,
    Recompile,
    Report,
)

Row = TypeVar("Row", GraphBreak, Recompile, LimitHit, Failure)
CompileKey = tuple[str, str]  # (process, compile id as torch prints it)


@dataclass(frozen=True, slots=True)
class Named(Generic[Row]):
    """One row of a report and its name there: "recompiles[2]"."""

    ref: str
    row: Row


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that no finding explains yet."""

    breaks: tuple[Named[GraphBreak], ...] = ()
    recompiles: tuple[Named[Recompile], ...] = ()
    limits: tuple[Named[LimitHit], ...] = ()
    failures: tuple[Named[Failure], ...] = ()

    def without(self, refs: Iterable[str]) -> Rows:
        taken = set(refs)
        return Rows(
            tuple(n for n in self.breaks if n.ref not in taken),
            tuple(n for n in self.recompiles if n.ref not in taken),
            tuple(n for n in self.limits if n.ref not in taken),
            tuple(n for n in self.failures if n.ref not in taken),
        )

    def limits_of(self, recompiles: Iterable[Named[Recompile]]) -> tuple[Named[LimitHit], ...]:
        """Limits that these causes used up: of a function where the cause that changed most is one of them.

        Whether it changed once more at the refusal does not matter: the entries before were its.
        """
        own = {n.ref for n in recompiles}
        return tuple(n for n in self.limits if self._most_changed(n.row) in own)

    def _most_changed(self, limit: LimitHit) -> str | None:
        rows = [
            n for n in self.recompiles if (n.row.function, n.row.process) == (limit.function, limit.process)
        ]
        if not any(n.row.blocked_by_limit for n in rows):
            return None
        weights = {n.ref: (n.row.count + n.row.blocked_by_limit, n.row.blocked_by_limit) for n in rows}
        return max(rows, key=lambda n: weights[n.ref]).ref

    def refusals_of(self, recompiles: Iterable[Named[Recompile]]) -> tuple[Named[Failure], ...]:
        """Under fullgraph=True the recompile limit raises: that error belongs to the cause."""
        refused = {(n.row.function, n.row.process) for n in recompiles if n.row.blocked_by_limit}
        return tuple(
            n
            for n in self.failures
            if n.row.exception == "FailOnRecompileLimitHit" and (n.row.function, n.row.process) in refused
        )


def rows_of(report: Report) -> Rows:
    """What a bucketed model's warm-up compiled on purpose explains nothing and needs no explanation."""
    return Rows(
        tuple(
            Named(f"graph_breaks[{i}]", row) for i, row in enumerate(report.graph_breaks) if not row.warm_up
        ),
        tuple(Named(f"recompiles[{i}]", row) for i, row in enumerate(report.recompiles) if not row.warm_up),
        tuple(Named(f"limit_hits[{i}]", row) for i, row in enumerate(report.limit_hits)),
        tuple(Named(f"failures[{i}]", row) for i, row in enumerate(report.failures)),
    )


@dataclass(frozen=True)
class Facts:
    """``guards``: guards of each compile; ``threads``: its thread; ``warnings``: texts that torch logged;
    ``op_checks``: of the custom operators that a trial checked.
    """

    report: Report
    sources: Sources
    guards: Mapping[CompileKey, int] = field(default_factory=dict)
    threads: Mapping[CompileKey, str] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    op_checks: Sequence[OpCheck] = ()

    def function_key(self, file: str | None, line: int | None, function: str | None) -> tuple[str, str]:
        """(file, qualified name): the same function in every process and after every edit above it."""
        return file or "?", self.sources.qualified_name(file, line, function)

    @cached_property
    def forwards(self) -> dict[CompileKey, tuple[Graph, ...]]:
        """The graphs of each compile, backward ones left out."""
        found: dict[CompileKey, tuple[Graph, ...]] = {}
        for graph in self.report.graphs:
            if not graph.backward:
                key = graph.process, graph.compile_id
                found[key] = (*found.get(key, ()), graph)
        return found

    @cached_property
    def hottest_break(self) -> int:
        return max((b.runtime_hits or 0 for b in self.report.graph_breaks), default=0)

    @cached_property
    def compiles_nothing(self) -> bool:
        """No operation of the program runs compiled, because of breaks and skipped functions."""
        return any(d.slug == "no_operation_compiled" for d in self.report.diagnoses)

    @cached_property
    def first_break(self) -> GraphBreak | None:
        """The one that torch met first, by the numbers of compiles."""

        def earliest(site: GraphBreak) -> tuple[int, ...]:
            numbers = (i.lstrip("!").split("/") for i in site.compile_ids)
            return min((tuple(int(n) for n in parts if n.isdigit()) for parts in numbers), default=(1 << 30,))

        return min(self.report.graph_breaks, key=earliest, default=None)

    def roots_of(self, site: GraphBreak) -> frozenset[tuple[str, str]]:
        """The compiled functions that a line breaks, by file and qualified name."""
        found = (self._functions_by_id.get((site.process, i)) for i in site.compile_ids)
        return frozenset(key for key in found if key is not None)

    @cached_property
    def _functions_by_id(self) -> dict[CompileKey, tuple[str, str]]:
        return {
            (frame.process, compile_id): self.function_key(frame.file, frame.line, frame.function)
            for frame in self.report.frames
            if self._is_own_code(frame)
            for compile_id in frame.compile_ids
        }

    def _is_own_code(self, frame: Frame) -> bool:
        """torch's own wrappers are shown at the line that called them, which is no start of a function."""
        function = self.sources.function_at(frame.file, frame.line)
        if function is None or frame.resumed_at is not None:
            return self.sources.tree(frame.file) is None or frame.resumed_at is not None
        return frame.line == min([function.lineno, *(d.lineno for d in function.decorator_list)])

    @cached_property
    def is_distributed(self) -> bool:
        """Ranks of one job, which run side by side."""
        return len({p.rank for p in self.report.processes if p.rank is not None}) > 1

    @cached_property
    def uses_compiled_autograd(self) -> bool:
        return any(i.startswith("!") for frame in self.report.frames for i in frame.compile_ids)

    @cached_property
    def script(self) -> str | None:
        """The program's own file, else where the outermost user call of a graph break is."""
        if self.report.recording.name.endswith(".py"):
            return self.report.recording.name
        paths = (site.call_path for site in self.report.graph_breaks if site.call_path)
        return next((path[0].rsplit(":", 1)[0] for path in paths), None)
