"""Which texts stand beside which row: of a graph its own, and what belongs to no graph in a list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compilescope.views.html._code import Document, Packed, Text, document_text, pack, source_texts
from compilescope.views.html._shelf import Row, Rows, Shelf

if TYPE_CHECKING:
    from compilescope.analysis.report import Graph

_Key = tuple[str, int, str]
MAX_FILES = 200
MAX_STRAYS = 100
_BACKWARD = "aot_backward_graph"


@dataclass(frozen=True, slots=True)
class Stray:
    """Texts of a compile that has no row among the graphs of this page."""

    compile_id: str
    process: str
    texts: list[Text]


@dataclass(slots=True)
class Texts:
    """``of_row`` by the id of a graph's row, ``files`` by the name the report gives a source file."""

    of_row: dict[str, list[Text]] = field(default_factory=dict)
    strays: list[Stray] = field(default_factory=list)
    files: dict[str, Text] = field(default_factory=dict)

    def file_rows(self) -> Rows[str]:
        return Shelf().rows("source", list(self.files), MAX_FILES, str)

    def every(self) -> Iterable[Text]:
        yield from self.files.values()
        for texts in self.of_row.values():
            yield from texts
        for stray in self.strays:
            yield from stray.texts

    def pack(self, room_bytes: int) -> Packed:
        return pack(self.every(), room_bytes)


def arrange(graphs: Sequence[Row[Graph]], documents: Iterable[Document], sources: Mapping[str, str]) -> Texts:
    rows: dict[_Key, list[Row[Graph]]] = {}
    for row in graphs:
        rows.setdefault((row.item.process, row.item.epoch, row.item.compile_id), []).append(row)
    found = Texts(files=source_texts(sources))
    strays: dict[_Key, Stray] = {}
    for document in documents:
        key = (document.process, document.epoch, document.compile_id)
        text = document_text(document)
        if key in rows:
            found.of_row.setdefault(_owner(rows[key], document).id, []).append(text)
        else:
            stray = strays.setdefault(key, Stray(document.compile_id, document.process, []))
            stray.texts.append(text)
    found.strays = list(strays.values())
    return found


def _owner(rows: Sequence[Row[Graph]], document: Document) -> Row[Graph]:
    """Of a forward and a backward with one compile id: the one that has this code."""
    if document.code is not None:
        named = [row for row in rows if row.item.code == document.code]
        if named:
            return named[0]
    backward = document.kind == _BACKWARD
    return next((row for row in rows if row.item.backward == backward), rows[0])
