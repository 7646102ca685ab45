"""The recording on disk: written inside the user's process, read anywhere, without torch.

Importing this package loads nothing: the process that records must not pay for the reader.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compilescope.recording.format import Damage, Record, Ref
    from compilescope.recording.pack import pack_recording
    from compilescope.recording.phases import PhaseFold
    from compilescope.recording.process import ProcessRecording
    from compilescope.recording.reader import Recording, open_recording
    from compilescope.recording.selection import Selection
    from compilescope.recording.writer import Writer

__all__ = [
    "Damage",
    "PhaseFold",
    "ProcessRecording",
    "Record",
    "Recording",
    "Ref",
    "Selection",
    "Writer",
    "open_recording",
    "pack_recording",
]

_HOMES = {
    "Damage": "format",
    "PhaseFold": "phases",
    "ProcessRecording": "process",
    "Record": "format",
    "Recording": "reader",
    "Ref": "format",
    "Selection": "selection",
    "Writer": "writer",
    "open_recording": "reader",
    "pack_recording": "pack",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
