"""A session that writes a real recording, and what it wrote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compilescope.capture._session import Session
from compilescope.recording import open_recording
from compilescope.recording.writer import Writer


class Written:
    """A session, and the records it has written by now."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writer = Writer(folder, {"argv": []})
        self.session = Session(self.writer)

    def records(self, kind: str) -> list[Any]:
        recording = open_recording(self.folder)
        return [r for process in recording.processes for r in process.records() if r.k == kind]


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Written]:
    made = Written(tmp_path / "unit.compilescope")
    yield made
    made.session.active = False
    made.writer.close()
