"""The screens, in the order of their keys. Each answers one question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compilescope.views.tui.tables.breaks import BREAKS
from compilescope.views.tui.tables.buckets import BUCKETS
from compilescope.views.tui.tables.compare import COMPARE
from compilescope.views.tui.tables.eager import EAGER
from compilescope.views.tui.tables.findings import FINDINGS, fixable
from compilescope.views.tui.tables.frames import FRAMES
from compilescope.views.tui.tables.guards import GUARDS
from compilescope.views.tui.tables.kernels import KERNELS
from compilescope.views.tui.tables.ranks import RANKS
from compilescope.views.tui.tables.recompiles import RECOMPILES
from compilescope.views.tui.tables.recording import RECORDING
from compilescope.views.tui.tables.shapes import SHAPES
from compilescope.views.tui.tables.timeline import TIMELINE

if TYPE_CHECKING:
    from compilescope.analysis.report import Report
    from compilescope.views.tui._table import Table


@dataclass(frozen=True)
class Page:
    """``news``: rows that appear while a program runs are announced, by this word.

    ``when``: named in the line at the top only for reports that have something for it.
    """

    key: str

    name: str
    label: str
    short: str
    question: str
    table: Table[Any] | None = None
    count: Callable[[Report], int] | None = None
    news: str = ""
    when: Callable[[Report], bool] | None = None

    def is_for(self, report: Report | None) -> bool:
        return self.when is None or (report is not None and self.when(report))


def _missing(report: Report) -> int:
    of_processes = sum(len(process.missing) + len(process.damage) for process in report.processes)
    return len(report.missing) + of_processes


PAGES = (
    Page(
        "1",
        "overview",
        "Overview",
        "Over",
        "Is it still recompiling, what did compiling cost, and what comes first?",
    ),
    Page(
        "2",
        "findings",
        "Findings",
        "Find",
        "What should I fix first?",
        FINDINGS,
        lambda report: len(fixable(report)),
    ),
    Page(
        "3",
        "recompiles",
        "Recompiles",
        "Recomp",
        "Which value changed, and what did compiling again cost?",
        RECOMPILES,
        lambda report: len(report.recompiles),
        "recompile",
    ),
    Page(
        "4",
        "breaks",
        "Graph breaks",
        "Breaks",
        "Which lines leave the graph, how often, and why?",
        BREAKS,
        lambda report: len(report.graph_breaks),
        "graph break",
    ),
    Page(
        "5",
        "frames",
        "Frames",
        "Frames",
        "What was compiled, how often, and does it run compiled?",
        FRAMES,
        lambda report: len(report.frames),
    ),
    Page(
        "6",
        "shapes",
        "Shapes",
        "Shapes",
        "Which sizes does each graph take, and which are fixed?",
        SHAPES,
        lambda report: len(report.graphs),
    ),
    Page("7", "code", "Code", "Code", "What do the source, the graph and the generated code say?"),
    Page(
        "8",
        "eager",
        "Not compiled",
        "Eager",
        "What runs without torch.compile, and why?",
        EAGER,
        lambda report: len(report.limit_hits) + len(report.failures) + len(report.skips),
        "limit hit",
    ),
    Page(
        "9",
        "recording",
        "Recording",
        "Rec",
        "What was recorded, and what can it not tell?",
        RECORDING,
        _missing,
    ),
    Page(
        "K",
        "kernels",
        "Kernels",
        "Kern",
        "Which kernels does a call run, and from which lines?",
        KERNELS,
        lambda report: sum(len(graph.kernel_rows) for graph in report.graphs),
        when=lambda report: any(graph.kernel_rows for graph in report.graphs),
    ),
    Page(
        "B",
        "buckets",
        "Buckets",
        "Buck",
        "Which calls does each rung serve, and which rungs are not needed?",
        BUCKETS,
        lambda report: len(report.buckets),
        when=lambda report: bool(report.buckets),
    ),
    Page(
        "D",
        "compare",
        "Compare",
        "Diff",
        "What differs from the other recording?",
        COMPARE,
        when=lambda _report: False,  # named where a second recording is
    ),
    Page(
        "O",
        "output",
        "Output",
        "Out",
        "What did the program print?",
        when=lambda _report: False,  # named where it was kept
    ),
    Page(
        "L",
        "ladder",
        "Ladder",
        "Ladr",
        "Which ladder would serve these sizes, and what would a call cost?",
        when=lambda report: bool(report.ladders),
    ),
    Page(
        "C",
        "guards",
        "Guards",
        "Guard",
        "What is checked before each call, and what does it cost?",
        GUARDS,
        when=lambda report: any(graph.guards is not None for graph in report.graphs),
    ),
    Page(
        "T",
        "timeline",
        "Time",
        "Time",
        "Where did compile time go?",
        TIMELINE,
        when=lambda report: bool(report.phases.frames or report.phases.open),
    ),
    Page(
        "P",
        "ranks",
        "Processes",
        "Proc",
        "Does one process compile more than the others?",
        RANKS,
        lambda report: len(report.processes),
        when=lambda report: len(report.processes) > 1,
    ),
)
