"""``compilescope summary``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from compilescope.cli._recordings import load_report, needs_a_name, recording_argument
from compilescope.cli._terminal import ColorChoice, default_width, is_utf8, use_color, write
from compilescope.errors import UsageError

if TYPE_CHECKING:
    from compilescope.analysis.report import Report
    from compilescope.views.text import Wanted


@click.command()
@recording_argument
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--frame", metavar="NAME", help="One function in full: its name, or file.py:LINE.")
@click.option("--graphs", is_flag=True, help="All graphs: symbols, kernels, what was tuned.")
@click.option("--guards", is_flag=True, help="What is checked before each call; with --frame also the list.")
@click.option("--buckets", is_flag=True, help="The rungs of bucket ladders.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.option("--width", type=click.IntRange(40, 500), help="Columns of the text.  [default: at most 80]")
def command(
    recording: Path,
    form: Literal["text", "json"],
    frame: str | None,
    graphs: bool,
    guards: bool,
    buckets: bool,
    color: ColorChoice,
    width: int | None,
) -> None:
    """Say on one screen what is wrong, worst first.

    RECORDING is the newest one of the working directory when left out. The options --frame, --graphs,
    --guards and --buckets print all of one kind of fact instead, as plain tables. The JSON form is the
    contract for other tools: its names do not change, what is unknown is null and has its reason in a list
    `missing`.
    """
    from compilescope.views import json, text

    asked = frame is not None or graphs or guards or buckets
    report = load_report(recording, detail=asked or form == "json")
    if form == "json":
        write(json.render(report))
        return
    if asked:
        wanted = text.Wanted(frame, graphs, guards, buckets)
        write(_details(report, wanted, width or default_width()))
        return
    colored, ascii_only = use_color(color, sys.stdout), not is_utf8(sys.stdout)
    named = needs_a_name(recording)
    columns = width or default_width()
    write(text.render(report, width=columns, color=colored, ascii=ascii_only, named=named))


def _details(report: Report, wanted: Wanted, width: int) -> str:
    from compilescope.views import text

    try:
        return text.render_details(report, wanted, width=width, ascii=not is_utf8(sys.stdout))
    except LookupError:
        names = list(dict.fromkeys(frame.function for frame in report.frames))
        known = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        raise UsageError(
            f"no frame is called {wanted.frame!r}", hint=f"there is: {known or 'none'}"
        ) from None
