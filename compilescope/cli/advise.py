"""``compilescope advise``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import click

from compilescope.cli._findings import finding_text, findings_text
from compilescope.cli._ladder import ladder_text
from compilescope.cli._recordings import newest, recording_argument
from compilescope.cli._terminal import default_width, write
from compilescope.errors import UsageError


@click.command()
@recording_argument
@click.argument("number", required=False, type=click.IntRange(min=1))
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--width", type=click.IntRange(40, 500), help="Columns of the text.  [default: at most 80]")
def command(recording: Path, number: int | None, form: Literal["text", "json"], width: int | None) -> None:
    """Say what to change, what it costs now, and how sure that is.

    RECORDING is the newest one of the working directory when left out. With NUMBER one finding is shown in
    full: its evidence, what could make it wrong, and the change as a diff where it can be written.
    """
    from compilescope.advice import examine, findings_json
    from compilescope.model import load
    from compilescope.recording import open_recording

    if number is None and recording.name.isdigit() and not recording.exists():
        recording, number = newest(Path()), int(recording.name)
    report, found = examine(load(open_recording(recording)))
    if number is not None and number > len(found):
        raise UsageError(f"there is no finding {number}: the recording has {len(found)}")
    shown = found if number is None else [found[number - 1]]
    if form == "json":
        write(json.dumps(findings_json(shown), indent=2, allow_nan=False) + "\n")
        return
    columns = width or default_width()
    if not shown:
        write(" ".join(["Nothing to fix.", *report.verdict.sentences]) + "\n")
    elif number is None:
        write(findings_text(shown, width=columns) + ladder_text(report.ladders, columns))
    else:
        write(finding_text(number, shown[0], width=columns))
