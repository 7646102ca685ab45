"""Opens TORCH_TRACE logs: one file, or a folder of them (ranks, forked children), plain or gzip."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from pathlib import Path

from compilescope.recording.damage import DamageLog
from compilescope.recording.process import gc_paused
from compilescope.recording.source import BombError, ByteSource, FileSource, Ration, TemporarySource
from compilescope.recording.trace_blocks import BlockSplitter
from compilescope.recording.trace_fork import share_string_tables
from compilescope.recording.trace_header import HEADER
from compilescope.recording.trace_log import TraceLog
from compilescope.recording.trace_process import TraceProcess

_CHUNK_BYTES = 4 << 20
_SNIFFED_BYTES = 256 << 10
_PREFIX = "dedicated_log_torch_trace_"
_GZIP_MAGIC = b"\x1f\x8b"


def is_trace_log(path: Path) -> bool:
    """By its content: a header line near its beginning. Raises OSError."""
    with path.open("rb") as file:
        start = file.read(_SNIFFED_BYTES)
    if start.startswith(_GZIP_MAGIC):
        try:
            start = zlib.decompressobj(31).decompress(start, _SNIFFED_BYTES)
        except zlib.error:
            start = b""
    return path.name.startswith(_PREFIX) or HEADER.search(start) is not None


def find_trace_logs(folder: Path) -> list[Path]:
    """The logs directly in the folder."""
    named = [path for path in folder.iterdir() if path.name.startswith(_PREFIX) or ".log" in path.suffixes]
    return sorted(path for path in named if path.is_file() and is_trace_log(path))


def read_trace_logs(paths: list[Path], damage: DamageLog) -> list[TraceProcess]:
    """All their processes, ids made unique. Damage that belongs to no process goes to ``damage``."""
    processes = []
    with gc_paused():
        for path in paths:
            try:
                processes += _read(path, damage)
            except OSError as error:
                damage.add("unreadable", path.name, 0, error.strerror or str(error))
    share_string_tables(processes)
    taken: set[str] = set()
    for process in processes:
        name, number = process.id, 1
        while process.id in taken:
            number += 1
            process.id = f"{name}-{number}"
        taken.add(process.id)
    return processes


def _read(path: Path, damage: DamageLog) -> list[TraceProcess]:
    plain = FileSource(path, path.name)
    packed = plain.pread(2, 0) == _GZIP_MAGIC
    source: ByteSource = TemporarySource(path.name) if packed else plain
    log = TraceLog(source, time.gmtime(path.stat().st_mtime).tm_year)
    splitter = BlockSplitter(log)
    pieces = _unpack(plain, source, log.damage) if isinstance(source, TemporarySource) else _pieces(plain)
    size = 0
    for piece in pieces:
        size += len(piece)
        splitter.feed(piece)
    splitter.finish()
    log.finish(size)
    if not size:
        log.damage.add("empty-log", path.name, 0, "no byte in it")
    for entry in log.damage.entries():
        damage.note(entry)
    return log.processes


def _pieces(source: ByteSource, size: int = _CHUNK_BYTES) -> Iterator[bytes]:
    offset = 0
    while piece := source.pread(size, offset):
        offset += len(piece)
        yield piece


def _unpack(packed: ByteSource, unpacked: TemporarySource, damage: DamageLog) -> Iterator[bytes]:
    """Gzip members one after another, as collectors append them. What comes out is kept, to be read again."""
    ration = Ration()
    stream = zlib.decompressobj(31)
    try:
        for piece in _pieces(packed, 256 << 10):
            ration.count(len(piece), 0)
            while piece:
                out = stream.decompress(piece, _CHUNK_BYTES)
                ration.count(0, len(out))
                unpacked.append(out)
                if out:
                    yield out
                piece = stream.unconsumed_tail
                if stream.eof:
                    piece = stream.unused_data
                    if piece:
                        stream = zlib.decompressobj(31)
        if not stream.eof:
            damage.add(
                "gzip-cut", packed.name, ration.given, "the file ends in the middle of its gzip stream"
            )
    except zlib.error as error:
        damage.add("gzip-bad", packed.name, ration.given, f"the rest cannot be unpacked: {error}")
    except BombError as error:
        damage.add("bomb", packed.name, ration.given, f"{error}; the rest was not read")
