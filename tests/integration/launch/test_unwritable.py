"""Where no recording can be written, the program still runs to its end, with one line on stderr."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest


def said_once(done) -> bool:
    return len(done.stderr.splitlines()) == 1 and done.stderr.startswith(
        "compilescope: cannot write the recording"
    )


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system of 16 kB; mounting takes root and its capabilities."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "none", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("cannot mount a file system here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_output_below_a_file(programs):
    programs.write("train.py", "print('ran')\nraise SystemExit(6)")
    done = programs.recorded("-o", "train.py/REC", "train.py")
    assert (done.returncode, done.stdout) == (6, "ran\n")
    assert said_once(done)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_read_only_folder(programs):
    programs.write("train.py", "print('ran')")
    programs.folder.chmod(0o500)
    done = programs.recorded("train.py")
    programs.folder.chmod(0o700)
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert said_once(done)


def test_read_only_file_system(programs, tiny_disk):
    programs.write("train.py", "print('ran')")
    subprocess.run(["mount", "-o", "remount,ro", str(tiny_disk)], check=True)
    done = programs.recorded("-o", str(tiny_disk / "REC"), "train.py")
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert said_once(done)


def test_disk_that_is_full_from_the_start(programs, tiny_disk):
    fill(tiny_disk)
    programs.write("train.py", "print('ran')")
    done = programs.recorded("-o", str(tiny_disk / "REC"), "train.py")
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert said_once(done)
    assert [p.name for p in tiny_disk.iterdir()] == ["filler"]


def test_disk_that_fills_while_the_program_runs(programs, tiny_disk):
    """The recording stops with one line; how the program ended is noted in the old file's block."""
    programs.write(
        "train.py",
        "import sys, torch\n"
        "f = torch.compile(lambda x, n: x + n, backend='eager')\n"
        "for n in range(4):\n    f(torch.ones(2), n)\n"
        "print('ran')\nsys.exit(5)\n",
    )
    done = programs.recorded("-o", str(tiny_disk / "REC"), "train.py")
    assert (done.returncode, done.stdout) == (5, "ran\n")
    assert len([line for line in done.stderr.splitlines() if line.startswith("compilescope: ")]) == 1
    assert '"exit_status": 5' in (tiny_disk / "REC" / "run.json").read_text()


def test_removed_working_directory(programs, tmp_path):
    script = programs.write("train.py", "print('ran')")
    gone = tmp_path / "gone"
    gone.mkdir()
    code = f"cd {gone}; rmdir {gone}; exec {sys.executable} {programs.command} run {script}"
    done = subprocess.run(["sh", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert "cannot write the recording" in done.stderr
    assert not gone.exists()


def fill(disk) -> None:
    with (disk / "filler").open("wb", buffering=0) as file:
        try:
            while shutil.disk_usage(disk).free:
                file.write(bytes(4096))
        except OSError:
            pass
