"""``compilescope why-miss``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Literal

import click

from compilescope.cli._terminal import ColorChoice, default_width, is_utf8, use_color, write
from compilescope.cli._two_recordings import base_and_head, compared


@click.command(name="why-miss")
@base_and_head
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.option("--width", type=click.IntRange(40, 500), help="Columns of the text.  [default: at most 80]")
def command(
    base: Path, head: Path, form: Literal["text", "json"], color: ColorChoice, width: int | None
) -> None:
    """Say which part of a cache key changed.

    BASE filled a compile cache and HEAD missed it: each look-up of the FX graph cache and of AOTAutograd's
    is paired with the same graph's in BASE, and the components of the two keys are compared, old and new
    value. Where that cannot be said (the cache was bypassed, no key was recorded, BASE has no such graph)
    the reason is given.
    """
    from compilescope.views.json import diff as json_view
    from compilescope.views.text import diff as text_view

    diff = compared(base, head)
    if form == "json":
        write(json.dumps(json_view.plain(diff)["cache_keys"], indent=2, allow_nan=False) + "\n")
        return
    write(
        text_view.why_miss(
            diff,
            width=width or default_width(),
            color=use_color(color, sys.stdout),
            ascii=not is_utf8(sys.stdout),
        )
    )
