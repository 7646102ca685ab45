"""The screens, in the order of their keys. Each answers one question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compilescope.views.tui.tables.breaks import BREAKS
from compilescope.views.tui.tables.eager import EAGER
from compilescope.views.tui.tables.findings import FINDINGS, fixable
from compilescope.views.tui.tables.frames import FRAMES
from compilescope.views.tui.tables.recompiles import RECOMPILES
from compilescope.views.tui.tables.recording import RECORDING
from compilescope.views.tui.tables.shapes import SHAPES

if TYPE_CHECKING:
    from compilescope.analysis.report import Report
    from compilescope.views.tui._table import Table


@dataclass(frozen=True)
class Page:
    """``news``: rows that appear while a program runs are announced, by this word."""

    name: str
    label: str
    short: str
    question: str
    table: Table[Any] | None = None
    count: Callable[[Report], int] | None = None
    news: str = ""


def _missing(report: Report) -> int:
    of_processes = sum(len(process.missing) + len(process.damage) for process in report.processes)
    return len(report.missing) + of_processes


PAGES = (
    Page(
        "overview",
        "Overview",
        "Over",
        "Is it still recompiling, what did compiling cost, and what comes first?",
    ),
    Page(
        "findings",
        "Findings",
        "Find",
        "What should I fix first?",
        FINDINGS,
        lambda report: len(fixable(report)),
    ),
    Page(
        "recompiles",
        "Recompiles",
        "Recomp",
        "Which value changed, and what did compiling again cost?",
        RECOMPILES,
        lambda report: len(report.recompiles),
        "recompile",
    ),
    Page(
        "breaks",
        "Graph breaks",
        "Breaks",
        "Which lines leave the graph, how often, and why?",
        BREAKS,
        lambda report: len(report.graph_breaks),
        "graph break",
    ),
    Page(
        "frames",
        "Frames",
        "Frames",
        "What was compiled, how often, and does it run compiled?",
        FRAMES,
        lambda report: len(report.frames),
    ),
    Page(
        "shapes",
        "Shapes",
        "Shapes",
        "Which sizes does each graph take, and which are fixed?",
        SHAPES,
        lambda report: len(report.graphs),
    ),
    Page("code", "Code", "Code", "What do the source, the graph and the generated code say?"),
    Page(
        "eager",
        "Not compiled",
        "Eager",
        "What runs without torch.compile, and why?",
        EAGER,
        lambda report: len(report.limit_hits) + len(report.failures) + len(report.skips),
        "limit hit",
    ),
    Page(
        "recording", "Recording", "Rec", "What was recorded, and what can it not tell?", RECORDING, _missing
    ),
)
