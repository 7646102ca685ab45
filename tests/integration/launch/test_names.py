"""Names of files, folders and arguments are data: no character in them may mean anything to us."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

HOSTILE = [
    "tränen 训练.py",
    "a b;$(touch x).py",
    "[bold]<script>.py",
    "line\nbreak\t.py",
    "'quote\".py",
    "a" * 240 + ".py",
    "..py",
]


def run_default(programs, *words) -> subprocess.CompletedProcess[bytes]:
    """With the default name of the recording, and with bytes in and out."""
    argv = [sys.executable, str(programs.command), "run", "-q", *words]
    return subprocess.run(argv, cwd=programs.folder, capture_output=True, check=False)


def recordings(programs) -> list[str]:
    return [p.name for p in programs.folder.iterdir() if p.is_dir()]


@pytest.mark.parametrize("name", HOSTILE)
def test_script_with_a_hostile_name(programs, name):
    programs.write(name, "import sys; sys.stdout.buffer.write(sys.argv[0].encode())")
    done = run_default(programs, name)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, name, b"")
    (made,) = recordings(programs)
    assert made.startswith("compilescope-")
    assert made.endswith(".compilescope")
    assert made.isprintable()
    facts = json.loads((programs.folder / made / "run.json").read_text())
    assert facts["command"] == ["python", name]


def test_undecodable_bytes_in_names_and_arguments(programs):
    name = os.fsdecode(b"tr\xff.py")
    (programs.folder / name).write_text("import os, sys; os.write(1, os.fsencode(sys.argv[1]))")
    done = run_default(programs, name, os.fsdecode(b"\xfe"))
    assert (done.returncode, done.stdout) == (0, b"\xfe")
    (made,) = recordings(programs)
    facts = json.loads((programs.folder / made / "run.json").read_bytes())
    assert facts["command"] == ["python", "tr\\xff.py", "\\xfe"]


def test_default_names(programs):
    programs.write("pkg/__init__.py", "")
    programs.write("pkg/train.py", "")
    for words, stem in (
        (["pkg/train.py"], "train"),
        (["-m", "pkg.train"], "pkg.train"),
        (["-c", "1"], "code"),
    ):
        before = set(recordings(programs))
        run_default(programs, *words)
        (made,) = set(recordings(programs)) - before
        assert made.startswith(f"compilescope-{stem}.")
        assert made.removesuffix(".compilescope").rpartition(".")[2].isdigit()


def test_missing_scripts_and_programs_that_are_not_python(programs):
    programs.write("run.sh", "#!/bin/sh\necho ran\n")
    for words, expected in (
        (["no\nsuch.py"], "can't open file"),
        (
            ["torchrun", "--nproc-per-node", "2", "train.py"],
            "compilescope run -- torchrun --nproc-per-node 2 train.py",
        ),
        (["run.sh"], "not a Python script"),
        (["/bin/ls"], "not a Python script"),
        (["python", "train.py"], "did you mean: compilescope run train.py"),
        (["-O.py"], "No such option"),
    ):
        done = run_default(programs, *words)
        assert (done.returncode, done.stdout) == (2, b"")
        assert expected in done.stderr.decode()
    assert recordings(programs) == []
