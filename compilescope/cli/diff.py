"""``compilescope diff``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import click

from compilescope.cli._output import STDOUT, write_new
from compilescope.cli._terminal import ColorChoice, default_width, is_utf8, say, use_color, write
from compilescope.cli._two_recordings import base_and_head, compared

if TYPE_CHECKING:
    from compilescope.compare import Diff

Form = Literal["text", "json", "markdown", "html"]
_SUFFIXES = {".json": "json", ".md": "markdown", ".html": "html", ".htm": "html"}


@click.command()
@base_and_head
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown", "html"]),
    help="[default: by the suffix of FILE, else text]",
)
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write here, not out.")
@click.option("-f", "--force", is_flag=True, help="Replace an existing file.")
@click.option("--exit-code", "strict", is_flag=True, help="Exit status 1 when the two differ.")
@click.option("--time-factor", type=click.FloatRange(1), default=2.0, show_default=True)
@click.option("--time-floor", metavar="SECONDS", type=click.FloatRange(0), default=10.0, show_default=True)
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.option("--width", type=click.IntRange(40, 500), help="Columns of the text.  [default: at most 80]")
def command(
    base: Path,
    head: Path,
    form: Form | None,
    output: Path | None,
    force: bool,
    strict: bool,
    time_factor: float,
    time_floor: float,
    color: ColorChoice,
    width: int | None,
) -> int:
    """Say what differs between two recordings.

    BASE is what was, HEAD what is compared with it. Findings are known by rule, file, function and cause,
    functions and graphs by what they are: moved lines and torch's ids change nothing. Counts are compared
    exactly. A time differs when it changed by more than the factor and by more than the floor, and only
    where torch, the device and the state of the caches are the same.
    """
    from compilescope.compare import TimeLimits

    to_file = output is not None and output != STDOUT
    chosen = form or cast(Form, _SUFFIXES.get(output.suffix.lower(), "text") if output else "text")
    diff = compared(base, head, TimeLimits(time_factor, time_floor))
    shown = sys.stdout if not to_file else None
    text = _drawn(
        diff,
        chosen,
        width=width or default_width(),
        color=shown is not None and use_color(color, shown),
        ascii_only=shown is not None and not is_utf8(shown),
    )
    if to_file and output is not None:
        write_new(output, lambda file: _save(file, text), force=force)
        say(f"wrote {output}")
    else:
        write(text)
    return 1 if strict and diff.differs else 0


def _drawn(diff: Diff, form: Form, *, width: int, color: bool, ascii_only: bool) -> str:
    if form == "json":
        from compilescope.views.json import diff as json_view

        return json_view.render(diff)
    if form == "markdown":
        from compilescope.views.markdown import diff as markdown_view

        return markdown_view.render(diff)
    if form == "html":
        from compilescope.views.html import diff as html_view

        return html_view.render(diff)
    from compilescope.views.text import diff as text_view

    return text_view.render(diff, width=width, color=color, ascii=ascii_only)


def _save(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", errors="backslashreplace")
