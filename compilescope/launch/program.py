"""``compilescope run`` without the command line: prepare, start, wait, note how it ended."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from compilescope.errors import OutputError
from compilescope.launch import environment, runfile
from compilescope.launch.folder import default_folder, make_room, working_directory
from compilescope.launch.git import GitQuestion
from compilescope.launch.process import Ended, run_to_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from compilescope.launch.target import Target

_FRESH_NOTE = (
    "--fresh-cache: TORCHINDUCTOR_CACHE_DIR and TRITON_CACHE_DIR named empty temporary folders, "
    "removed afterwards"
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """``recording`` is the folder as a person would name it from here.

    It is None when the folder could not be written: the program ran all the same.
    """

    ended: Ended
    recording: Path | None


def run_program(
    target: Target,
    *,
    output: Path | None = None,
    force: bool = False,
    fresh_cache: bool = False,
    log: Path | None = None,
    started: Callable[[Path], None] | None = None,
    say: Callable[[str], None],
) -> Outcome:
    """Run it to its end under capture. ``say`` gets the one line about a recording that cannot be written.

    With ``log`` the program's output goes to that file (inside the recording where the path is relative).
    ``started`` is told the recording right before the program starts.
    Raises UsageError or OutputError before anything is started, never because of the program.
    """
    target.check()
    if output is not None:
        make_room(output, force=force)
    here = working_directory()
    folder = here / (output or default_folder(target.stem, os.getpid(), here))
    child = environment.recorded(os.environ, folder)
    with _caches(fresh_cache) as caches:
        facts = runfile.at_start(target, os.environ | caches, [_FRESH_NOTE] if fresh_cache else [])
        problem = _create(folder, output, facts)
        if problem is not None:
            say(f"cannot write the recording {folder}: {problem}: the program runs without being recorded")
            return Outcome(run_to_end(target.python_args, os.environ | caches), None)
        with _opened(None if log is None else folder / log) as file:
            git = GitQuestion(_source_directory(target))
            if started is not None:
                started(folder)
            ended = run_to_end(target.python_args, child | caches, file)
    _note_end(folder, runfile.at_end(facts, ended, git.answer()), say)
    return Outcome(ended, output or Path(folder.name))


def _create(folder: Path, output: Path | None, facts: dict[str, Any]) -> str | None:
    """Make the folder and its first file; returns why not. A full disk shows before the program starts."""
    made = False
    try:
        if output is not None:
            output.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700)
        made = True
        runfile.write(folder, facts)
    except OSError as problem:
        if made:
            shutil.rmtree(folder, ignore_errors=True)
        return problem.strerror or str(problem)
    return None


def _note_end(folder: Path, facts: dict[str, Any], say: Callable[[str], None]) -> None:
    try:
        runfile.write(folder, facts)
    except OSError as problem:
        say(f"cannot note in {folder} how the program ended: {problem.strerror}")


@contextmanager
def _opened(log: Path | None) -> Iterator[IO[bytes] | None]:
    if log is None:
        yield None
        return
    try:
        file = log.open("wb")
    except OSError as problem:
        raise OutputError(f"cannot write {log}: {problem.strerror}") from problem
    with file:
        yield file


def _source_directory(target: Target) -> Path:
    if target.kind == "script" and target.name != "-":
        return Path(os.path.realpath(target.name)).parent
    return working_directory()


@contextmanager
def _caches(fresh: bool) -> Iterator[dict[str, str]]:
    if not fresh:
        yield {}
        return
    try:
        folder = tempfile.mkdtemp(prefix="compilescope-cache-")
    except OSError as problem:
        raise OutputError(f"cannot make empty caches: {problem}") from problem
    try:
        yield environment.fresh_caches(Path(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
