"""From a user's line to the kernels made of it, and from a line of generated code back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compilescope.analysis.report import Graph, Report
    from compilescope.analysis.report_graph import KernelRow, SourceLine

GENERATED = "Inductor's code"  # how the title of a document of generated code starts


@dataclass(frozen=True, slots=True)
class Link:
    """One kernel of one compile."""

    compile_id: str
    process: str
    kernel: KernelRow


def kernels_of_line(report: Report, file: str, line: int, process: str | None) -> list[Link]:
    """Most launches first; of ``process`` alone where it has any."""
    found = [
        Link(graph.compile_id, graph.process, kernel)
        for graph, kernel in _kernels(report.graphs)
        if any((each.file, each.line) == (file, line) for each in kernel.lines)
    ]
    own = [link for link in found if link.process == process]
    return sorted(own or found, key=lambda link: -link.kernel.launches)


def lines_with_kernels(report: Report, file: str) -> list[int]:
    """Lines of the file of which some kernel was made, ascending."""
    return sorted({each.line for _, kernel in _kernels(report.graphs) for each in kernel.lines
                   if each.file == file and each.line is not None})  # fmt: skip


def kernel_at(
    report: Report, compile_id: str, process: str | None, text: Sequence[str], line: int
) -> Link | None:
    """The kernel that line ``line`` (from 1) of generated code is about: named there, or last above it."""
    graphs = [graph for graph in report.graphs if graph.compile_id == compile_id]
    graphs = [graph for graph in graphs if graph.process == process] or graphs
    links = {kernel.name: Link(compile_id, graph.process, kernel) for graph, kernel in _kernels(graphs)}
    if not links:
        return None
    named = _any_of(links)
    for number in range(min(line, len(text)), 0, -1):
        match = named.search(text[number - 1])
        if match is not None:
            return links[match.group()]
    return None


def place_of(text: Sequence[str], kernel: str) -> int | None:
    """The first line (from 1) that names the kernel."""
    named = _any_of([kernel])
    return next((number for number, line in enumerate(text, 1) if named.search(line)), None)


def user_lines(link: Link) -> list[SourceLine]:
    """Lines that can be shown: those that name a file."""
    return [each for each in link.kernel.lines if each.file and each.line]


def _kernels(graphs: Iterable[Graph]) -> Iterable[tuple[Graph, KernelRow]]:
    return ((graph, kernel) for graph in graphs for kernel in graph.kernel_rows)


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    """As whole names: triton_poi_fused_1 is not in triton_poi_fused_10."""
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
