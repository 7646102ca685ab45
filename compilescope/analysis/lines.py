"""User lines and byte counts as the report writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compilescope.analysis.index import Index
from compilescope.analysis.report_graph import SourceLine
from compilescope.model import Location
from compilescope.model.inductor import Size
from compilescope.model.inductor import SourceLine as Printed


def line_at(index: Index, place: Location | None) -> SourceLine | None:
    """None for no place, and for a line of torch's own."""
    if place is None or index.paths.is_torch(place.file):
        return None
    code = index.source_line(place.file, place.line)
    return SourceLine(index.paths.show(place.file), place.line, place.function, code)


def printed_line(index: Index, line: Printed | None) -> SourceLine | None:
    """A line as torch printed it: its file may be cut on the left."""
    if line is None:
        return None
    file = index.whole_path(line.file) or line.file
    if index.paths.is_torch(file):
        return None
    code = index.source_line(file, line.line) or line.code or None
    return SourceLine(index.paths.show(file), line.line, line.function or None, code)


def printed_lines(index: Index, lines: Iterable[Printed]) -> list[SourceLine]:
    found = (printed_line(index, line) for line in lines)
    return list(dict.fromkeys(line for line in found if line is not None))


def number_of(size: Size | None, hints: Mapping[str, int]) -> int | None:
    """Bytes at the sizes the graph was compiled for."""
    if size is None:
        return None
    return size.value if size.value is not None else size.at(hints)


def expression_of(size: Size | None) -> str | None:
    """Only where the count has symbols."""
    return str(size) if size is not None and size.value is None else None
