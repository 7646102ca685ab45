"""``compilescope summary``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from compilescope.cli._recordings import load_report, recording_argument
from compilescope.cli._terminal import ColorChoice, default_width, is_utf8, use_color, write


@click.command()
@recording_argument
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.option("--width", type=click.IntRange(40, 500), help="Columns of the text.  [default: at most 80]")
def command(recording: Path, form: Literal["text", "json"], color: ColorChoice, width: int | None) -> None:
    """Say on one screen what is wrong, worst first.

    RECORDING is the newest one of the working directory when left out. The JSON form is the contract for
    other tools: its names do not change, what is unknown is null and has its reason in a list `missing`.
    """
    from compilescope.views import json, text

    report = load_report(recording)
    if form == "json":
        write(json.render(report))
        return
    colored, ascii_only = use_color(color, sys.stdout), not is_utf8(sys.stdout)
    write(text.render(report, width=width or default_width(), color=colored, ascii=ascii_only))
