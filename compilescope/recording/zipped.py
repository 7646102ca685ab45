"""Reads a packed recording in place: its members are stored, so any of their bytes can be fetched."""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from compilescope.errors import RecordingError
from compilescope.recording.format import EVENTS, EVENTS_PACKED, PAYLOADS, RUN
from compilescope.recording.process_folder import FolderProcess
from compilescope.recording.source import BombError, ByteSource, FileSource, Ration, TemporarySource

_LOCAL_HEADER = struct.Struct("<4s22xHH")
_RUN_CAP_BYTES = 4 << 20


def is_zip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")


def open_zip(path: Path) -> tuple[list[FolderProcess], bytes | None]:
    """The processes, and the content of ``run.json`` if there is one. Raises RecordingError, OSError."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {info.filename: info for info in archive.infolist() if not info.is_dir()}
            sources = {name: _member(path, archive, info) for name, info in members.items() if _is_ours(name)}
            run = next((n for n in sorted(members, key=len) if PurePosixPath(n).name == RUN), None)
            run_bytes = archive.open(run).read(_RUN_CAP_BYTES) if run is not None else None
    except (
        zipfile.BadZipFile,
        NotImplementedError,
        RuntimeError,
        EOFError,
        struct.error,
        zlib.error,
        BombError,
    ) as error:
        raise RecordingError(f"{path} is a damaged zip file: {error}.") from error
    processes = []
    for name in sorted(sources):
        member = PurePosixPath(name)
        if member.name == PAYLOADS:
            continue
        pack = sources.get(str(member.with_name(PAYLOADS)))
        processes.append(
            FolderProcess(
                member.parent.name,
                sources[name],
                pack,
                modified_s=0.0,
                packed=member.name == EVENTS_PACKED,
            )
        )
    return processes, run_bytes


def _is_ours(name: str) -> bool:
    return PurePosixPath(name).name in (EVENTS, EVENTS_PACKED, PAYLOADS)


def _member(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> ByteSource:
    if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
        return _unpacked(archive, info)
    with path.open("rb") as file:
        file.seek(info.header_offset)
        magic, name_bytes, extra_bytes = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    if magic != b"PK\x03\x04":
        raise zipfile.BadZipFile(f"no member at byte {info.header_offset}")
    start = info.header_offset + _LOCAL_HEADER.size + name_bytes + extra_bytes
    return FileSource(path, info.filename, start=start, length=info.compress_size)


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> ByteSource:
    """Somebody zipped the folder with another tool: what it compressed goes to a nameless temporary file."""
    ration = Ration()
    ration.taken = info.compress_size
    source = TemporarySource(info.filename)
    with archive.open(info) as member:
        while part := member.read(1 << 20):
            ration.count(0, len(part))
            source.append(part)
    return source
