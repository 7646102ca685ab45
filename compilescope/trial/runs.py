"""Runs the sides of a trial by turns: a machine that slows down meanwhile slows both."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from compilescope.launch import Target, run_program
from compilescope.trial.changes import Change
from compilescope.trial.measure import Measured, measure

APPLY = "COMPILESCOPE_APPLY"
_TAIL_BYTES = 4000
_TAIL_LINES = 5


@dataclass(frozen=True, slots=True)
class Side:
    name: str
    target: Target
    change: Change
    shown: Callable[[str], str] = str


def run_by_turns(
    sides: Sequence[Side], repeats: int, folder: Path, say: Callable[[str], None], *, fresh_cache: bool = True
) -> list[list[Measured]]:
    """``repeats`` runs of each side, in its order. Recordings and outputs stay in ``folder``.

    Every run has empty compile caches of its own unless ``fresh_cache`` is off. Raises RecordingError.
    """
    results: list[list[Measured]] = [[] for _ in sides]
    for number in range(repeats):
        # a b, b a, a b: nobody is always first.
        order = range(len(sides)) if number % 2 == 0 else reversed(range(len(sides)))
        for index in order:
            side = sides[index]
            say(f"run {number + 1} of {repeats}: {side.name}")
            results[index].append(_run(side, folder / f"{side.name}-{number + 1}", say, fresh_cache))
    return results


def _run(side: Side, stem: Path, say: Callable[[str], None], fresh_cache: bool) -> Measured:
    recording = stem.with_name(f"{stem.name}.compilescope")
    log = stem.with_name(f"{stem.name}.log")
    with _applied(side.change), _output_to(log):
        run_program(side.target, output=recording, fresh_cache=fresh_cache, say=say)
    measured = measure(recording, side.shown)
    if measured.exit_status:
        told = "".join(f"\n  {line}" for line in _last_lines(log))
        say(f"{side.name} ended with status {measured.exit_status}{told}")
    return measured


def _last_lines(log: Path) -> list[str]:
    with log.open("rb") as file:
        file.seek(max(log.stat().st_size - _TAIL_BYTES, 0))
        return file.read().decode("utf-8", "replace").splitlines()[-_TAIL_LINES:]


@contextmanager
def _applied(change: Change) -> Iterator[None]:
    before = os.environ.get(APPLY)
    os.environ[APPLY] = change.to_json()
    try:
        yield
    finally:
        os.environ.pop(APPLY)
        if before is not None:
            os.environ[APPLY] = before


@contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """What the program prints goes to a file: our own standard output is for the comparison."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        yield
    finally:
        for number, copy in enumerate(kept, 1):
            os.dup2(copy, number)
            os.close(copy)
