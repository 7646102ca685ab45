"""``run --provenance`` sets torch's own variable for the program, and says what that changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

PROGRAM = "import os; print(os.environ.get('INDUCTOR_PROVENANCE'))"


def test_the_program_has_it_and_the_user_is_told(
    command: Callable[..., CompletedProcess[str]], tmp_path: Path
) -> None:
    done = command("run", "-q", "--provenance", "-c", PROGRAM, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert "changes the keys of torch's compile cache" in done.stderr


def test_it_is_off_unless_asked_for(command: Callable[..., CompletedProcess[str]], tmp_path: Path) -> None:
    done = command("run", "-q", "-c", PROGRAM, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("None\n", "")
