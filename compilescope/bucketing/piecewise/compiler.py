"""The inner compiler, a piece at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch._guards import TracingContext, tracing
from torch._subclasses.fake_tensor import FakeTensor

from compilescope.bucketing.inner import Artifact, CompileNotes, Inner, InnerCompiler, as_eager
from compilescope.bucketing.piecewise.cut import CannotSplitError, cut
from compilescope.bucketing.piecewise.identity import identity
from compilescope.bucketing.piecewise.operators import SplitOp, SplitOps
from compilescope.bucketing.piecewise.sequence import sequence_of
from compilescope.bucketing.piecewise.stitch import stitched, with_expected_strides
from compilescope.bucketing.piecewise.values import TracedPiece, trace


@dataclass(frozen=True, slots=True)
class SplitReport:
    """One compile of one graph. ``reason`` says why it was not split; then it is one piece.

    Of ``pieces``, ``eager`` are the operators split at and ``compiled`` were compiled for this graph; the
    rest are identical to others. ``source`` is the Python that calls them.
    """

    pieces: int
    eager: int
    compiled: int
    reason: str | None = None
    source: str = ""

    def __str__(self) -> str:
        if self.reason is not None:
            return f"not split: {self.reason}"
        rest = self.pieces - self.eager
        return f"{self.pieces} pieces: {self.eager} eager, {rest} compiled, of which {self.compiled} were new"


class PiecewiseCompiler(InnerCompiler):
    """Like InnerCompiler, but what it compiles is the code between ``ops``, identical pieces once."""

    def __init__(
        self,
        ops: Iterable[SplitOp],
        inner: Inner = "inductor",
        mode: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(inner, mode, options)
        self.reports: list[SplitReport] = []
        self.matches = SplitOps(ops)
        self._made: dict[Hashable, Artifact] = {}

    def compile(self, graph: fx.GraphModule, arguments: Sequence[Any], notes: CompileNotes) -> Artifact:
        """As InnerCompiler's; a graph that cannot be split safely is compiled whole, and reported."""
        try:
            return self._in_pieces(graph, arguments, notes)
        except CannotSplitError as refused:
            self.reports.append(SplitReport(1, 0, 1, str(refused)))
            notes.not_split = str(refused)
            return super().compile(graph, arguments, notes)

    def forget(self) -> None:
        """Let go of the pieces made so far: later compiles make their own."""
        self._made.clear()

    def _in_pieces(self, graph: fx.GraphModule, arguments: Sequence[Any], notes: CompileNotes) -> Artifact:
        fake_mode = next((each.fake_mode for each in arguments if isinstance(each, FakeTensor)), None)
        if fake_mode is None:
            raise CannotSplitError("it has no tensor among its inputs")
        traced = self._split(graph, arguments, fake_mode)
        before = len(self._made)
        functions = [self._function(each, fake_mode, notes) for each in traced]
        compiled = len(self._made) - before
        pieces = [each.piece for each in traced]
        artifact, source = stitched(graph, pieces, functions)
        notes.sequence = sequence_of(graph, traced, functions)
        eager = sum(piece.runs_eagerly for piece in pieces)
        self.reports.append(SplitReport(len(pieces), eager, compiled, None, source))
        return artifact

    def _split(self, graph: fx.GraphModule, arguments: Sequence[Any], fake_mode: Any) -> list[TracedPiece]:
        nodes = [node for node in graph.graph.nodes if node.op == "placeholder"]
        symbols = [
            node
            for node, argument in zip(nodes, arguments, strict=True)
            if isinstance(argument, torch.SymInt)
        ]
        pieces = cut(graph, self.matches, symbols)
        if not any(piece.runs_eagerly for piece in pieces):
            raise CannotSplitError("it has none of the operators to split at")
        return trace(pieces, nodes, arguments, fake_mode)

    def _function(self, traced: TracedPiece, fake_mode: Any, notes: CompileNotes) -> Artifact:
        if traced.piece.runs_eagerly:
            return with_expected_strides(as_eager(traced.piece.graph_module), traced.outputs)
        key = identity(traced.piece, traced.arguments, fake_mode.shape_env)
        if key in self._made:
            return self._made[key]
        own = CompileNotes()
        context = TracingContext(fake_mode)
        with tracing(context):
            artifact = super().compile(traced.piece.graph_module, traced.arguments, own)
        if context.guards_context.aotautograd_guards:
            raise CannotSplitError("the code of a piece assumes how its inputs alias each other")
        _add(notes, own)
        self._made[key] = artifact
        return artifact


def _add(notes: CompileNotes, more: CompileNotes) -> None:
    order = ("none", "hit", "bypass", "miss")
    notes.cache = max(notes.cache, more.cache, key=order.index)
    if more.kernels is not None:
        notes.kernels = (notes.kernels or 0) + more.kernels
    notes.code += more.code
