"""A large recording shows what is known at once, then its facts, then all of it."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import builders
import pytest
from explorer_driver import Driver, FakeSource, drive

from compilescope.cli import _explore
from compilescope.cli._explore import RecordingSource
from compilescope.recording import Writer


class Slow(FakeSource):
    """``load`` waits until it is let go."""

    def __init__(self) -> None:
        super().__init__(builders.rich())
        self.go = threading.Event()

    def load(self):  # type: ignore[no-untyped-def]
        self.go.wait(20)
        return super().load()


def test_what_is_known_at_once_is_shown_until_the_facts_are_there() -> None:
    source = Slow()
    source.glanced = "So far it is known that there were 9,638 [compiles]."

    async def steps(screen: Driver) -> None:
        assert "9,638 [compiles]" in screen.app.waiting
        await screen.pilot.press("2")
        await screen.pilot.pause()
        assert "9,638 [compiles]" in screen.text  # on every screen, and keys are answered
        source.go.set()
        await screen.until(lambda: screen.app.report is not None)
        assert "attend(): len(history) grows" in screen.text

    drive(source, steps)


def test_facts_come_before_what_lies_below_them_and_the_cursor_stays() -> None:
    source = Slow()
    source.soon = replace(builders.rich(), graphs=[])

    async def steps(screen: Driver) -> None:
        assert screen.app.report is source.soon
        await screen.pilot.press("3", "j")
        await screen.pilot.pause()
        row = screen.row
        source.go.set()
        await screen.until(lambda: screen.app.report is source.report)
        assert screen.row == row
        assert source.loads == 1
        assert not screen.app.fresh  # nothing is announced as new

    drive(source, steps)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    head = {"pid": 7, "ppid": 1, "start_ns": 1, "argv": ["a.py"], "cwd": "/p", "versions": {}}
    writer = Writer(tmp_path / "r.compilescope", head)
    for number in range(12):
        writer.record("dynamo_start", {"stack": []}, c=(0, number, 0, 0))
        writer.record("note", {"m": {"text": '"k":"dynamo_start"'}})  # as text it is escaped
    writer.record("dynamo_output_graph", {"m": {}}, c=(0, 1, 0, 0), payload="g", payload_kind="g")
    writer.close()
    return tmp_path / "r.compilescope"


def test_marks_are_counted_in_whole_records(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = RecordingSource(recording)
    assert source.glance() == ""
    assert source.quick() is None
    monkeypatch.setattr(_explore, "_LARGE_BYTES", 1)
    for chunk in (7, 64, 1 << 20):
        monkeypatch.setattr(_explore, "_CHUNK_BYTES", chunk)
        assert "12 compiles, 1 graphs" in source.glance()
    soon = source.quick()
    assert soon is not None
    assert soon.report.totals.compiles == source.load().report.totals.compiles


def test_what_is_packed_or_gone_has_no_glance(tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    log.write_text(json.dumps({}))
    assert RecordingSource(log).glance() == ""
    assert RecordingSource(tmp_path / "nothing").glance() == ""
