"""Code on demand: long texts compressed into the page, unpacked and colored when somebody asks for one."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from compilescope.units import visible

_BLOCK_BYTES = 96_000  # of text: unpacked in a few ms, and twice what deflate looks back on
_LONGEST_TEXT = 2_000_000  # characters: more makes a tab stall
_LEVEL = 6
_MOST_MISSES = 8  # texts that did not fit: then it is time to stop compressing more of them
_BETWEEN = "\0"  # in no text: control characters are written out
_TO_WRITE_OUT = re.compile(r"[^\x20-\x7e\n]")
_RANKS = {  # what people ask for first is what stays when there is no room for all
    "source": 0,
    "dynamo_output_graph": 1,
    "inductor_output_code": 1,
    "dynamo_cpp_guards_str": 2,
    "aot_forward_graph": 3,
    "aot_backward_graph": 3,
    "aot_inference_graph": 3,
}
_LAST_RANK = 4


class Document(Protocol):
    """A text of one compile, read when it is packed. Equal texts have equal digests."""

    @property
    def process(self) -> str: ...
    @property
    def epoch(self) -> int: ...
    @property
    def compile_id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def code(self) -> str | None: ...
    @property
    def digest(self) -> str: ...
    @property
    def size_bytes(self) -> int: ...
    @property
    def read(self) -> Callable[[], str | None]: ...


@dataclass(slots=True)
class Text:
    """What a button offers. ``at`` is "block.part" once it is in the page, None while it is left out."""

    title: str
    kind: str
    digest: str
    size_bytes: int
    read: Callable[[], str | None]
    at: str | None = None


@dataclass(slots=True)
class Packed:
    """``blocks`` are base64 of raw deflate; inside one, texts stand in order with a NUL between them."""

    blocks: list[str] = field(default_factory=list)
    texts: int = 0
    left_out: int = 0
    left_out_bytes: int = 0
    unreadable: int = 0


def source_texts(sources: Mapping[str, str]) -> dict[str, Text]:
    """By file, in order of their names."""
    return {file: _source(file, text) for file, text in sorted(sources.items())}


def _source(file: str, text: str) -> Text:
    size_bytes = len(text.encode("utf-8", "replace"))
    return Text(file, "source", f"source {file}", size_bytes, lambda: text)


def document_text(document: Document) -> Text:
    return Text(document.title, document.kind, document.digest, document.size_bytes, document.read)


def pack(texts: Iterable[Text], room_bytes: int) -> Packed:
    """Sets ``at`` of every text that fits into ``room_bytes`` of the page, the most wanted kinds first."""
    packer = _Packer(room_bytes)
    for text in sorted(texts, key=lambda text: _RANKS.get(text.kind, _LAST_RANK)):
        packer.add(text)
    return packer.finish()


class _Packer:
    def __init__(self, room_bytes: int) -> None:
        self._room_bytes = room_bytes
        self._open: list[tuple[Text, str]] = []
        self._open_size = 0
        self._same: dict[str, list[Text]] = {}
        self._packed = Packed()
        self._misses = 0

    def add(self, text: Text) -> None:
        same = self._same.setdefault(text.digest, [])
        same.append(text)
        if len(same) > 1:
            return
        if self._misses > _MOST_MISSES or text.size_bytes > _LONGEST_TEXT:
            return
        content = text.read()
        if content is None:
            self._packed.unreadable += 1
            return
        if self._open_size + len(content) > _BLOCK_BYTES:
            self._close()
        self._open.append((text, _shown(content)))
        self._open_size += len(content)

    def _close(self) -> None:
        """Compresses what is open; what does not fit any more stays left out."""
        if not self._open:
            return
        content = _BETWEEN.join(text for _, text in self._open)
        block = _deflated(content)
        if len(block) <= self._room_bytes:
            for part, (text, _) in enumerate(self._open):
                text.at = f"{len(self._packed.blocks)}.{part}"
            self._packed.blocks.append(block)
            self._room_bytes -= len(block)
        elif len(self._open) == 1:
            self._misses += 1
        else:
            self._halve()
            return
        self._open, self._open_size = [], 0

    def _halve(self) -> None:
        whole, middle = self._open, len(self._open) // 2
        for half in (whole[:middle], whole[middle:]):
            self._open = half
            self._close()
        self._open, self._open_size = [], 0

    def finish(self) -> Packed:
        self._close()
        for same in self._same.values():
            for text in same:
                text.at = same[0].at
            if same[0].at is None:
                self._packed.left_out += 1
                self._packed.left_out_bytes += same[0].size_bytes
            else:
                self._packed.texts += 1
        return self._packed


def _shown(content: str) -> str:
    """Without characters that a browser would act on or hide; most texts have none, and are long."""
    if _TO_WRITE_OUT.search(content) is None:
        return content
    return visible(content.replace("\r\n", "\n"), keep="\n")


def _deflated(content: str) -> str:
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(content.encode("utf-8", "backslashreplace")) + packer.flush()
    return base64.b64encode(packed).decode("ascii")


def unpack(block: str) -> Sequence[str]:
    """The texts of a block, as the page shows them."""
    content = zlib.decompress(base64.b64decode(block), -zlib.MAX_WBITS)
    return content.decode("utf-8").split(_BETWEEN)
