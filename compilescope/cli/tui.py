"""``compilescope tui``."""

from __future__ import annotations

from pathlib import Path

import click

from compilescope.cli._explore import explore_or_print
from compilescope.cli._recordings import recording_argument


@click.command()
@click.option(
    "--compare", "base", metavar="BASE", type=click.Path(path_type=Path), help="Compare with this one."
)
@recording_argument
def command(recording: Path, base: Path | None) -> None:
    """Walk through a recording in the terminal.

    RECORDING is the newest one of the working directory when left out. Keys 1-9 change the screen, `?` lists
    all keys, `q` quits. Where the output is not a terminal, this prints the summary instead.
    """
    explore_or_print(recording, follow=False, base=base)
