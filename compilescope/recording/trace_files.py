"""Opens TORCH_TRACE logs: one file, or a folder of them (ranks, forked children), plain, gzip or zstd."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import zstandard

from compilescope.recording.damage import DamageLog
from compilescope.recording.gunzip import gunzip
from compilescope.recording.process import gc_paused
from compilescope.recording.source import (
    BombError,
    ByteSource,
    FileSource,
    TemporarySource,
    zstd_chunks,
)
from compilescope.recording.trace_blocks import BlockSplitter
from compilescope.recording.trace_fork import share_string_tables
from compilescope.recording.trace_header import HEADER
from compilescope.recording.trace_log import TraceLog
from compilescope.recording.trace_process import TraceProcess

_CHUNK_BYTES = 4 << 20
_SNIFFED_BYTES = 256 << 10
_PREFIX = "dedicated_log_torch_trace_"
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def is_trace_log(path: Path) -> bool:
    """By its content: a header line near its beginning. Raises OSError."""
    with path.open("rb") as file:
        start = file.read(_SNIFFED_BYTES)
    try:
        if start.startswith(_GZIP_MAGIC):
            start = _first(gunzip([start]))
        elif start.startswith(_ZSTD_MAGIC):
            with zstandard.ZstdDecompressor().stream_reader(start) as stream:
                start = stream.read(_SNIFFED_BYTES)
    except zstandard.ZstdError:
        start = b""
    return path.name.startswith(_PREFIX) or HEADER.search(start) is not None


def _first(pieces: Iterator[bytes]) -> bytes:
    start = b""
    try:
        while len(start) < _SNIFFED_BYTES and (piece := next(pieces, b"")):
            start += piece
    except (zlib.error, EOFError):
        pass
    return start


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
    magic = plain.pread(4, 0)
    packed = magic.startswith((_GZIP_MAGIC, _ZSTD_MAGIC))
    source: ByteSource = TemporarySource(path.name) if packed else plain
    log = TraceLog(source, time.gmtime(path.stat().st_mtime).tm_year)
    splitter = BlockSplitter(log)
    if isinstance(source, TemporarySource):
        unpacked = gunzip(_pieces(plain, 256 << 10)) if magic.startswith(_GZIP_MAGIC) else zstd_chunks(plain)
        pieces = _keep(unpacked, source, log.damage)
    else:
        pieces = _pieces(plain)
    size = 0
    for piece in pieces:
        size += len(piece)
        splitter.feed(piece)
    splitter.finish()
    log.finish(size)
    if not size:
        log.damage.add("empty-log", path.name, 0, "no byte in it")
    if log.processes:
        log.processes[0].absorb(log.damage)
    else:
        damage.absorb(log.damage)
    return log.processes


def _pieces(source: ByteSource, size: int = _CHUNK_BYTES) -> Iterator[bytes]:
    offset = 0
    while piece := source.pread(size, offset):
        offset += len(piece)
        yield piece


def _keep(pieces: Iterator[bytes], kept: TemporarySource, damage: DamageLog) -> Iterator[bytes]:
    """Hands on what comes out, and keeps it to be read again; damage ends it."""
    offset = 0
    try:
        for piece in pieces:
            offset += len(piece)
            kept.append(piece)
            yield piece
    except EOFError:
        damage.add("packed-cut", kept.name, offset, "the file ends in the middle of its compressed stream")
    except (zlib.error, zstandard.ZstdError) as error:
        damage.add("packed-bad", kept.name, offset, f"the rest cannot be unpacked: {error}")
    except BombError as error:
        damage.add("bomb", kept.name, offset, f"{error}; the rest was not read")
