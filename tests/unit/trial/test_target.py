"""What is run when ``verify`` is given a command, and when it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from compilescope.cli._trial import target_of
from compilescope.errors import UsageError
from compilescope.launch import Target
from compilescope.model import Run
from compilescope.trial.sides import recorded_target


def recorded(kind, *command, notes=()):
    launch = {"command": ["python", *command], "target": {"kind": kind, "name": "x"}, "notes": list(notes)}
    return Run("x", None, launch, ())


@pytest.mark.parametrize(
    ("words", "target"),
    [
        (("train.py", "-m"), Target("script", "train.py", ("-m",))),
        (("-m", "pkg.train", "--lr", "1"), Target("module", "pkg.train", ("--lr", "1"))),
        (("-c", "print(1)"), Target("code", "print(1)")),
    ],
)
def test_a_given_command_is_read_as_by_run(words, target):
    assert target_of(words, Path("no-such-recording")) == (target, Path.cwd())


def test_an_option_needs_what_it_is_for():
    with pytest.raises(UsageError, match="-m needs a module"):
        target_of(("-m",), Path("x"))


@pytest.mark.parametrize(
    ("run", "target"),
    [
        (recorded("script", "train.py", "5"), Target("script", "train.py", ("5",))),
        (recorded("module", "-m", "pkg", "-c"), Target("module", "pkg", ("-c",))),
        (recorded("code", "-c", "print(1)", "a"), Target("code", "print(1)", ("a",))),
    ],
)
def test_the_recorded_command_is_run_as_it_was(run, target):
    assert recorded_target(run) == target


@pytest.mark.parametrize(
    "run",
    [
        recorded("script", "-"),
        recorded("module", "-m", "python", notes=["recorded from within, by compilescope.profile"]),
        recorded("module"),
        Run("x", None, {}, ()),
    ],
)
def test_what_cannot_be_run_again_is_asked_for(run):
    with pytest.raises(UsageError, match="does not say how"):
        recorded_target(run)
