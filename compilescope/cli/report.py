"""``compilescope report``."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from compilescope.cli._output import STDOUT, write_new
from compilescope.cli._recordings import load_with_sources, recording_argument
from compilescope.cli._terminal import say, write
from compilescope.errors import UsageError


@click.command()
@recording_argument
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="`-` is standard output."
)
@click.option("-f", "--force", is_flag=True, help="Replace an existing file.")
@click.option("--open", "show", is_flag=True, help="Show it in the browser.")
def command(recording: Path, output: Path | None, force: bool, show: bool) -> None:
    """Write a web page of all facts.

    RECORDING is the newest one of the working directory when left out. The page is one file, readable
    offline: compilescope-report-NAME.html in the working directory unless -o names another.
    """
    from compilescope.views import html

    if show and output == STDOUT:
        raise UsageError("--open needs a file", hint="leave out -o -")
    report, sources = load_with_sources(recording)
    page = html.render(report, sources=sources)
    if output == STDOUT:
        write(page)
        return
    path = output or Path(f"compilescope-report-{report_stem(recording)}.html")
    write_new(path, lambda file: _save(file, page), force=force)
    say(f"wrote {path}")
    if show:
        webbrowser.open(path.resolve().as_uri())


def report_stem(recording: Path) -> str:
    """compilescope-train.4242.compilescope.zip -> train.4242"""
    name = recording.resolve().name.removesuffix(".zip").removesuffix(".compilescope")
    return name.removeprefix("compilescope-") or "recording"


def _save(file: Path, page: str) -> None:
    file.write_text(page, encoding="utf-8", errors="backslashreplace")
