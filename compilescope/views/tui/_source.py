"""What the explorer reads from. The front door wires these to a recording; this view never opens one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from compilescope.analysis.report import Report
    from compilescope.compare.diff import Diff


@dataclass(frozen=True, slots=True)
class Document:
    """One text about a compile: a graph, guards, generated code. ``read`` may be slow and may give None."""

    title: str
    language: str  # a name Pygments knows: "python", "cpp", "text"
    read: Callable[[], str | None]


class CodeSource(Protocol):
    """Texts behind the report's facts, read only when looked at. Called in worker threads; never raises."""

    def source(self, file: str, process: str | None) -> str | None:
        """The whole text of a user's file as it was when it was recorded, None if it was not kept."""

    def documents(self, compile_id: str, process: str | None) -> Sequence[Document]:
        """What was recorded of one compile, in the order in which torch made it."""

    def locate(self, file: str, process: str | None) -> Path | None:
        """The file on this machine, None if it is not here."""


@dataclass(frozen=True, slots=True)
class Opened:
    """One reading of a recording: the facts, and the texts behind them.

    ``diff`` is against the recording named by ``compare_with``; ``diff_problem`` says why there is none.
    """

    report: Report
    code: CodeSource
    diff: Diff | None = None
    diff_problem: str = ""


class ReportSource(Protocol):
    """Gives the report, again and again while the program that is recorded runs."""

    @property
    def name(self) -> str:
        """What a person calls the recording."""

    def stamp(self) -> Hashable:
        """Cheap; differs when ``load`` would see something new. Raises OSError."""

    def glance(self) -> str:
        """What can be said of a large recording at once, while it is read; empty for a small one.

        Raises OSError.
        """

    def quick(self) -> Opened | None:
        """The facts of a large recording without what lies below Dynamo: half the time of ``load``. Raises
        what that raises. None for one of which ``load`` is quick enough.
        """

    def load(self) -> Opened:
        """Raises CompileScopeError or OSError when nothing can be read (yet)."""

    def output(self) -> Callable[[], str | None] | None:
        """Reads the end of what the program printed; None where that was not kept. Called in threads."""

    def compare_with(self, base: str) -> None:
        """The next ``load`` compares with this recording too."""

    def export(self, report: Report) -> Path:
        """Writes the report as a web page and gives its name. Raises CompileScopeError or OSError."""
