"""Packs a recording into one zip file, to send."""

from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path

import zstandard

from compilescope.errors import OutputError, RecordingError, RecordingNotFound
from compilescope.recording.format import EVENTS, EVENTS_PACKED, PAYLOADS, RUN

_LEVEL = 9
_CHUNK_BYTES = 1 << 20


def pack_recording(src: Path, dest: Path) -> None:
    """Writes ``dest``, atomically. The recording may still be growing: what lies there now is packed.

    Raises RecordingNotFound, RecordingError if ``src`` is no recording folder, OutputError.
    """
    if not src.exists():
        raise RecordingNotFound(f"There is no recording at {src}.")
    folders = [src] if (src / EVENTS).is_file() else sorted(p.parent for p in src.glob(f"*/{EVENTS}"))
    if not folders and not (src / RUN).is_file():
        raise RecordingError(f"There is no recording folder to pack at {src}.")
    temporary = None
    try:
        fd, temporary = tempfile.mkstemp(prefix=f".{dest.name}.", dir=dest.absolute().parent)
        with os.fdopen(fd, "wb") as file:
            _write_zip(zipfile.ZipFile(file, "w", zipfile.ZIP_STORED), src, folders)
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(dest)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise OutputError(f"{dest} cannot be written: {error.strerror or error}.") from error


def _write_zip(archive: zipfile.ZipFile, src: Path, folders: list[Path]) -> None:
    with archive:
        if (src / RUN).is_file():
            archive.write(src / RUN, RUN)
        for folder in folders:
            name = folder.absolute().name
            # Events first: every payload they name is then already in the other file.
            _write_events(archive, folder / EVENTS, f"{name}/{EVENTS_PACKED}")
            if (folder / PAYLOADS).is_file():
                archive.write(folder / PAYLOADS, f"{name}/{PAYLOADS}")


def _write_events(archive: zipfile.ZipFile, events: Path, name: str) -> None:
    with (
        events.open("rb") as source,
        archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as member,
        zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).stream_writer(
            member, closefd=False
        ) as out,
    ):
        while part := source.read(_CHUNK_BYTES):
            out.write(part)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
