"""A program whose output goes to a file, because somebody else has the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from compilescope.errors import OutputError
from compilescope.launch import Target, run_program
from compilescope.launch.folder import make_room

CODE = "import sys; print('out', repr(sys.stdin.read())); print('err', file=sys.stderr); sys.exit(3)"


def test_what_it_prints_goes_to_the_file_in_the_recording(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    told: list[Path] = []
    recording = tmp_path / "r.compilescope"
    outcome = run_program(
        Target("code", CODE), output=recording, log=Path("output.log"), started=told.append, say=print
    )
    assert outcome.ended.exit_status == 3
    assert told == [recording]
    assert sorted((recording / "output.log").read_text().splitlines()) == ["err", "out ''"]
    assert capfd.readouterr() == ("", "")


def test_the_recording_is_there_when_its_start_is_told(tmp_path: Path) -> None:
    seen: list[bool] = []
    run_program(
        Target("code", "pass"),
        output=tmp_path / "r.compilescope",
        started=lambda folder: seen.append((folder / "run.json").is_file()),
        say=print,
    )
    assert seen == [True]


def test_a_log_that_cannot_be_written_starts_nothing(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"cannot write .*nowhere"):
        run_program(
            Target("code", "open('started', 'w')"),
            output=tmp_path / "r.compilescope",
            log=tmp_path / "nowhere" / "output.log",
            say=print,
        )
    assert not (tmp_path / "started").exists()


def test_a_recording_with_the_output_in_it_may_be_replaced(tmp_path: Path) -> None:
    recording = tmp_path / "r.compilescope"
    run_program(Target("code", "print(1)"), output=recording, log=Path("output.log"), say=print)
    make_room(recording, force=True)
    assert not recording.exists()
