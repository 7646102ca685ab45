"""Recordings cut off or spoiled anywhere still give a report, and it says what is wrong with them."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
import zstandard
from corpus_live import CORPUS
from hypothesis import given, settings
from hypothesis import strategies as st

from compilescope.analysis import Report, build_report
from compilescope.recording import open_recording

NAMES = ("24_history_grows", "40_forward_hooks_read_scalars", "26_break_deep_in_library")


def _unpack(name: str, folder: Path) -> Path:
    """The recording as the folder it was before packing; returns its one process folder."""
    with zipfile.ZipFile(CORPUS / "recordings" / f"{name}.zip") as packed:
        for member in packed.namelist():
            target = folder / member.removesuffix(".zst")
            target.parent.mkdir(parents=True, exist_ok=True)
            content = packed.read(member)
            if member.endswith(".zst"):
                content = zstandard.ZstdDecompressor().stream_reader(content).read()
            target.write_bytes(content)
    return next(path for path in folder.iterdir() if path.is_dir())


def _report(process: Path) -> Report:
    return build_report(open_recording(process.parent))


@pytest.mark.parametrize("name", NAMES)
def test_cut_after_any_record_the_counts_only_get_smaller(name: str, tmp_path: Path) -> None:
    process = _unpack(name, tmp_path / "rec.compilescope")
    whole = (process / "events.jsonl").read_bytes()
    full = _report(process).totals
    for step in range(1, 20):
        (process / "events.jsonl").write_bytes(whole[: len(whole) * step // 20])
        report = _report(process)
        assert report.totals.compiles <= full.compiles
        assert report.totals.graph_break_events <= full.graph_break_events
        assert not report.recording.complete
        if report.totals.graphs:
            assert [m.fact for m in report.processes[0].missing] == ["the last calls"]


@pytest.mark.parametrize("name", NAMES)
def test_without_payloads_the_facts_in_the_records_are_still_there(name: str, tmp_path: Path) -> None:
    process = _unpack(name, tmp_path / "rec.compilescope")
    full = _report(process).totals
    (process / "payloads.pack").write_bytes(b"")
    report = _report(process)
    assert (report.totals.compiles, report.totals.recompiles) == (full.compiles, full.recompiles)
    assert report.processes[0].damage


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_spoiled_bytes_anywhere_never_stop_the_report(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    process = _unpack(NAMES[0], tmp_path_factory.mktemp("spoiled") / "rec.compilescope")
    for name in ("events.jsonl", "payloads.pack"):
        content = bytearray((process / name).read_bytes())
        for _ in range(data.draw(st.integers(0, 8))):
            content[data.draw(st.integers(200, len(content) - 1))] = data.draw(st.integers(0, 255))
        (process / name).write_bytes(content)
    _report(process)
