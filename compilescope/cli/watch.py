"""``compilescope watch``."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

import click

from compilescope.cli._explore import explore_or_print
from compilescope.cli._recordings import _complete, newest
from compilescope.cli._running import recording_of
from compilescope.cli._terminal import say


@click.command()
@click.argument(
    "recording",
    metavar="[RECORDING|PID]",
    required=False,
    type=click.Path(path_type=Path),
    shell_complete=_complete,
)
@click.option("--job", type=int, hidden=True, help="The process that interrupts the program for us.")
def command(recording: Path | None, job: int | None) -> None:
    """Follow a recording in the terminal while the program runs.

    RECORDING is the newest one of the working directory when left out; one that is not there yet is waited
    for. A PID is that of a program which is being recorded. New graph breaks, recompiles and limit hits are
    announced as they come. The program does not notice: its files are only read, here or over a network file
    system. It may end and start again.
    """
    path = newest(Path()) if recording is None else recording_of(recording)
    explore_or_print(path, follow=True, interrupt=None if job is None else partial(_interrupt, job))
    if job is not None and _is_there(job):
        say("the program goes on; ctrl-c interrupts it")


def _interrupt(job: int) -> str:
    try:
        os.kill(job, signal.SIGINT)
    except OSError:
        return "the program has ended; q quits"
    return "sent the program an interrupt; q quits the explorer"


def _is_there(job: int) -> bool:
    return Path(f"/proc/{job}").exists()
