"""``compilescope pack``."""

from __future__ import annotations

from pathlib import Path

import click

from compilescope.cli._output import write_new
from compilescope.cli._recordings import recording_argument
from compilescope.cli._terminal import say
from compilescope.errors import RecordingNotFound, UsageError
from compilescope.units import size


@click.command()
@recording_argument
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Name of the zip file.")
@click.option("-f", "--force", is_flag=True, help="Replace an existing file.")
def command(recording: Path, output: Path | None, force: bool) -> None:
    """Make one zip file of a recording, to send or to keep. Every command reads it as it is.

    It holds your program's arguments, file paths and the source files named in stacks; of environment
    variables it holds names, never values.
    """
    from compilescope.recording import pack_recording

    if not recording.exists():
        raise RecordingNotFound(f"{recording}: no such recording")
    if not recording.is_dir():
        raise UsageError(f"{recording} is not a recording's folder", hint="a zip file is packed already")
    path = output or Path(f"{recording.resolve().name}.zip")
    write_new(path, lambda file: pack_recording(recording, file), force=force)
    say(f"wrote {path} ({size(path.stat().st_size)})")
