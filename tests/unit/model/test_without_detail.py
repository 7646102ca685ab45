"""A first page passes over most records; what it says of the recording is the same."""

from __future__ import annotations

from pathlib import Path

from model_records import Recorder

from compilescope.model import Process, load
from compilescope.recording import open_recording


def both(path: Path) -> tuple[Process, Process]:
    (quick,), (full,) = (load(open_recording(path), detail=detail).processes for detail in (False, True))
    return quick, full


def test_unknown_kinds_and_damage_are_counted(recorder: Recorder, tmp_path: Path) -> None:
    recorder.compiled(0).add("from_the_future", {"x": 1}).add(
        "create_symbol", {"symbol": "s0"}, c=(0, 0, 0, 0)
    )
    recorder.process()
    (events,) = tmp_path.glob("*/*/events.jsonl")
    events.write_bytes(events.read_bytes() + b'{"k":"create_symbol","c":7}\n{"k":"phases",\n')
    quick, full = both(tmp_path / "run.compilescope")
    assert quick.unknown == full.unknown == {"from_the_future": 1}
    assert (
        [hole.kind for hole in quick.holes] == [hole.kind for hole in full.holes] == ["bad-field", "bad-line"]
    )
    assert quick.detail is None
    assert full.detail is not None


def test_the_end_of_a_killed_run_is_known(recorder: Recorder, tmp_path: Path) -> None:
    recorder.compiled(0).add("describe_tensor", {"id": 1}, c=(0, 0, 0, 0), t=5 * 10**18)
    recorder.process(killed=True)
    quick, full = both(tmp_path / "run.compilescope")
    assert quick.last_ns == full.last_ns == 5 * 10**18


def test_artifacts_nobody_reads_are_not_unknown(recorder: Recorder, tmp_path: Path) -> None:
    recorder.add("artifact", {"name": "bytecode"}, c=(0, 0, 0, 0), payload="LOAD_FAST")
    recorder.add("artifact", {"name": "recompile_reasons"}, c=(0, 1, 0, 0), payload='["0/0: x"]').process()
    quick, full = both(tmp_path / "run.compilescope")
    assert quick.unknown == full.unknown == {}
    assert [c.reasons for c in quick.compiles.values()] == [("0/0: x",)]
