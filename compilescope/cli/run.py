"""``compilescope run``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal

import click

from compilescope.cli._recordings import load_report, needs_a_name
from compilescope.cli._terminal import default_width, is_utf8, say, use_color, write
from compilescope.errors import CompileScopeError
from compilescope.launch import Target, run_program

_KINDS: dict[str | None, Literal["script", "module", "code"]] = {
    None: "script",
    "module": "module",
    "code": "code",
}


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("-o", "--output", metavar="REC", type=click.Path(path_type=Path), help="Name of the recording.")
@click.option("-f", "--force", is_flag=True, help="Replace an existing recording.")
@click.option("-q", "--quiet", is_flag=True, help="No summary at the end.")
@click.option("--fresh-cache", is_flag=True, help="Give the program empty compile caches.")
@click.option("--provenance", is_flag=True, help="Have torch track where kernels come from.")
@click.option("--time-calls", type=click.IntRange(1), metavar="N", help="Time each N-th call of a graph.")
@click.option("--live", is_flag=True, help="Open the explorer beside it; its output goes to a file.")
@click.option("-m", "kind", flag_value="module", help="Run a module, as python -m does.")
@click.option("-c", "kind", flag_value="code", help="Run code, as python -c does.")
@click.argument("words", metavar="SCRIPT|MODULE|CODE [ARGS]...", nargs=-1, type=click.UNPROCESSED)
def command(
    output: Path | None,
    force: bool,
    quiet: bool,
    fresh_cache: bool,
    provenance: bool,
    time_calls: int | None,
    live: bool,
    kind: str | None,
    words: tuple[str, ...],
) -> None:
    """Run a program and say what torch.compile does in it.

    The program runs as under plain `python`: its arguments, terminal, signals and exit status are its own.
    Options before the program are ours, everything after it belongs to the program. SCRIPT may be `-` for a
    program on standard input.

    The recording is a folder, compilescope-NAME.PID.compilescope in the working directory unless -o names
    another. The summary goes to standard error, however the program ended.

    With --provenance torch itself notes which operations and lines each kernel comes from, so that they are
    known of kernels from a compile cache too (generated C++ names none). This sets INDUCTOR_PROVENANCE=1
    for the program. From torch 2.13 on that is a part of the compile cache's key: the program compiles
    anew the first time, and shares no entries with runs without it.

    With --time-calls each N-th call of a compiled graph is timed, by device events on a GPU: the costs that
    `compilescope ladder` plans from.

    With --live the explorer has the terminal: what the program prints goes to output.log in the recording and
    to a screen of the explorer, the program reads nothing, and ctrl-c there interrupts the program. Leaving
    the explorer leaves the program running; the exit status is the program's, once both have ended.
    """
    if not words:
        raise click.UsageError(
            "nothing to run: give SCRIPT, -m MODULE or -c CODE", click.get_current_context()
        )
    target = Target(_KINDS[kind], words[0], words[1:])
    if time_calls is not None:
        os.environ["COMPILESCOPE_TIME_CALLS"] = str(time_calls)
    runner = run_program
    if live:
        from compilescope.cli._live import run_live as runner
    if provenance:
        os.environ["INDUCTOR_PROVENANCE"] = "1"  # the program inherits it; nothing here reads it
        say("--provenance changes the keys of torch's compile cache: entries made without it are not used")
    outcome = runner(target, output=output, force=force, fresh_cache=fresh_cache, say=say)
    if outcome.recording is not None and not quiet:
        _summarize(outcome.recording)
    sys.exit(outcome.ended.exit_status)


def _summarize(recording: Path) -> None:
    """Whatever goes wrong here: the exit status stays the program's."""
    try:
        from compilescope.views import text

        report = load_report(recording, detail=False)
        color = use_color("auto", sys.stderr)
        ascii_only = not is_utf8(sys.stderr)
        named = needs_a_name(recording)
        shown = text.render(report, width=default_width(), color=color, ascii=ascii_only, named=named)
        write(shown, sys.stderr)
    except CompileScopeError as error:
        say(f"no summary: {error}")
    except Exception as error:
        say(f"no summary: internal error: {type(error).__name__}: {error}\n  the recording is {recording}")
