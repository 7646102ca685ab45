"""``compilescope watch``."""

from __future__ import annotations

from pathlib import Path

import click

from compilescope.cli._explore import explore_or_print
from compilescope.cli._recordings import recording_argument


@click.command()
@recording_argument
def command(recording: Path) -> None:
    """Follow a recording in the terminal while the program runs.

    RECORDING is the newest one of the working directory when left out; one that is not there yet is waited
    for. New graph breaks, recompiles and limit hits are announced as they come. The program does not notice:
    its files are only read, here or over a network file system. It may end and start again.
    """
    explore_or_print(recording, follow=True)
