from __future__ import annotations

import pytest

from compilescope.errors import UsageError
from compilescope.launch import Target


@pytest.mark.parametrize(
    ("target", "words", "title", "stem"),
    [
        (
            Target("script", "sub/train.py", ("--lr", "3")),
            ["sub/train.py", "--lr", "3"],
            "sub/train.py",
            "train",
        ),
        (Target("module", "pkg.train", ("-m",)), ["-m", "pkg.train", "-m"], "pkg.train", "pkg.train"),
        (Target("code", "1 + 1"), ["-c", "1 + 1"], "-c", "code"),
        (Target("script", "-"), ["-"], "-", "stdin"),
        (Target("script", "."), ["."], ".", ""),
    ],
)
def test_words_for_the_interpreter(target, words, title, stem):
    assert (target.python_args, target.title, target.stem) == (words, title, stem)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("train.py", b"print(1)"),
        ("train", b"#!/usr/bin/env python3\n"),
        ("odd.py", b"#!/bin/sh\n"),
        ("empty", b""),
        ("train.pyc", b"\xa7\r\r\n"),
        ("app.zip", b"PK\x03\x04"),
        ("binary_without_newline", bytes(10_000)),
    ],
)
def test_what_python_may_be_able_to_run(tmp_path, monkeypatch, name, content):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(content)
    Target("script", name).check()


def test_modules_code_standard_input_and_folders_are_left_to_python(tmp_path):
    Target("module", "no.such.module").check()
    Target("code", "no code").check()
    Target("script", "-").check()
    Target("script", str(tmp_path)).check()


@pytest.mark.parametrize("content", [b"\x7fELF\x02\x01", b"#!/bin/bash\n", b"#!/usr/bin/env node\n"])
def test_other_programs_are_refused(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tool").write_bytes(content)
    with pytest.raises(UsageError, match="not a Python script") as caught:
        Target("script", "tool", ("a b",)).check()
    assert "compilescope run -- tool 'a b'" in caught.value.hint


def test_missing_script_is_named_in_full(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        Target("script", "no.py").check()
    assert caught.value.message == f"can't open file '{tmp_path}/no.py': [Errno 2] No such file or directory"


@pytest.mark.parametrize("launcher", ["torchrun", "accelerate", "ls"])
def test_launchers_and_commands(tmp_path, monkeypatch, launcher):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="program of its own"):
        Target("script", launcher).check()


def test_a_script_named_like_a_launcher_is_a_script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "torchrun").write_text("print(1)")
    Target("script", "torchrun").check()


@pytest.mark.parametrize("python", ["python", "python3", "python3.12"])
def test_python_in_front_of_the_script(tmp_path, monkeypatch, python):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        Target("script", python, ("my train.py", "--lr")).check()
    assert caught.value.hint == "did you mean: compilescope run 'my train.py' --lr"


def test_options_of_python_are_not_scripts():
    with pytest.raises(UsageError, match="option of python"):
        Target("script", "-V").check()
