"""A real program under real torch: recorded, summarized, reported, packed; however it ended."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, signal, sys
import torch

@torch.compile(backend="eager")
def step(x, n):
    print("step", n)
    return x + n

for n in range(4):
    step(torch.ones(2), n)
if sys.argv[1] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
"""
# One worker for the file: its first tests share one recording.
pytestmark = pytest.mark.xdist_group("whole_command")
MAIN = "from compilescope.cli import main; main()"


def compilescope(folder: Path, *words: str, **options) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-c", MAIN, *words]
    return subprocess.run(
        argv, cwd=folder, capture_output=True, text=True, timeout=120, check=False, **options
    )


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The folder of one recorded program, and what `run` printed."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "train.py").write_text(PROGRAM)
    return folder, compilescope(folder, "run", "train.py", "well")


class TestOneRecording:
    def test_run_prints_the_program_and_then_the_summary(self, recorded):
        _, done = recorded
        assert done.returncode == 0
        assert done.stdout == "".join(f"step {n}\n" for n in range(4))
        assert "train.py exited 0" in done.stderr
        assert "train.py:7" in done.stderr
        assert len(done.stderr.splitlines()) <= 24
        assert "\nRecording  compilescope-train." in done.stderr

    def test_summary_says_the_same_again(self, recorded):
        folder, done = recorded
        again = compilescope(folder, "summary")
        assert again.stdout == done.stderr
        assert again.stderr.startswith("compilescope: reading the newest recording here, compilescope-train.")

    def test_summary_in_ascii(self, recorded):
        folder, _ = recorded
        done = compilescope(folder, "summary", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
        assert done.returncode == 0
        assert done.stdout.isascii()
        assert "\\u" not in done.stdout

    def test_json_has_the_break(self, recorded):
        folder, _ = recorded
        facts = json.loads(compilescope(folder, "summary", "--format", "json").stdout)
        assert facts["recording"]["exit_status"] == 0
        assert facts["recording"]["command"] == ["python", "train.py", "well"]
        assert [(b["file"], b["line"]) for b in facts["graph_breaks"]] == [("train.py", 7)]

    def test_packed_recording_reads_the_same(self, recorded, tmp_path):
        folder, _ = recorded
        assert compilescope(folder, "pack", "-o", str(tmp_path / "p.compilescope.zip")).returncode == 0
        (whole, packed) = (
            json.loads(compilescope(where, "summary", "--format", "json").stdout)
            for where in (folder, tmp_path)
        )
        for report in (whole, packed):
            del report["recording"]["path"], report["recording"]["size_bytes"]
        assert packed == whole

    def test_report_is_one_page(self, recorded, tmp_path):
        folder, _ = recorded
        page = tmp_path / "page.html"
        done = compilescope(folder, "report", "-o", str(page))
        assert (done.returncode, done.stdout) == (0, "")
        assert "train.py" in page.read_text()
        assert compilescope(folder, "report", "-o", "-").stdout == page.read_text()


def test_summary_of_a_killed_program(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    done = compilescope(tmp_path, "run", "train.py", "killed")
    assert done.returncode == 137
    assert "SIGKILL" in done.stderr
    assert "train.py:7" in done.stderr


def test_program_without_torch_gets_a_diagnosis(tmp_path):
    done = compilescope(tmp_path, "run", "-c", "print('ran')")
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert "no summary" not in done.stderr
    assert "Recording" in done.stderr


def test_doctor_knows_this_torch(tmp_path):
    done = compilescope(tmp_path, "doctor")
    assert (done.returncode, done.stderr) == (0, "")
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if line[0] != " ")
    assert "(supported: " in lines["torch"]
    assert "present" in lines["hooks"]
    assert "problem" not in lines
    assert "writable" in lines["cache"]
