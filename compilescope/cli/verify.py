"""``compilescope verify``."""

from __future__ import annotations

import json
from contextlib import chdir
from pathlib import Path
from typing import Any, Literal

import click

from compilescope.cli._terminal import write
from compilescope.errors import UsageError

_CHANGES = ("either", "rules", "diffs", "bucketed")


@click.command()
@click.option("--apply", "either", metavar="RULE", multiple=True, help="Apply a finding's change, by itself.")
@click.option("--apply-setting", "rules", metavar="RULE", multiple=True, help="The same, by a setting only.")
@click.option("--apply-diff", "diffs", metavar="RULE", multiple=True, help="The same, by its diff on a copy.")
@click.option("--bucketed", is_flag=True, help="With --apply: buckets for the sizes that were recorded.")
@click.option("--set", "pairs", metavar="NAME=VALUE", multiple=True, help="A setting of torch, or mode=...")
@click.option("--check-ops", is_flag=True, help="Check the custom operators that the program calls.")
@click.option("--against", type=click.Choice(["eager"]), help="Compare with running eager instead.")
@click.option(
    "-n", "--repeats", type=click.IntRange(1, 50), default=2, show_default=True, help="Runs a side."
)
@click.option("--warm-cache", is_flag=True, help="Keep torch's compile caches, instead of empty ones a run.")
@click.option("--keep", metavar="DIR", type=click.Path(path_type=Path), help="Keep what the runs recorded.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.argument("recording", metavar="REC", type=click.Path(path_type=Path))
@click.argument("words", metavar="[-- SCRIPT|-m MODULE|-c CODE [ARGS]...]", nargs=-1, type=click.UNPROCESSED)
def command(recording: Path, words: tuple[str, ...], form: Literal["text", "json"], **how: Any) -> int:
    """Run a program again with a change: did it help?

    REC is a recording of the program, which is run as it was recorded unless another command follows `--`.
    --apply takes rules of its findings, or `all`: by a setting of torch where that is the fix, else by the
    finding's diff on a copy of the program, else by another setting that may help. Without any change SCRIPT
    is the edited program, and what was recorded is what it is compared with. Both sides run by turns.
    Verdicts are kept beside REC and shown with its findings. Exit status: 1 when the change is harmful or did
    nothing, or when compiling is shown not to pay; 0 otherwise.
    """
    from compilescope.cli._trial import answer, kept_folder, target_of

    recording = recording.absolute()
    target, place = target_of(words, recording)
    if how["against"] is not None and any(how[name] for name in _CHANGES):
        raise UsageError("--against eager goes with --set, not with --apply")
    if how["check_ops"] and any(how[name] for name in (*_CHANGES, "pairs", "against")):
        raise UsageError("--check-ops runs the program as it is: nothing can be applied with it")
    with kept_folder(how.pop("keep")) as folder, chdir(place):
        told = answer(recording, target, folder, **how)
    write(json.dumps(told.plain(), indent=2) + "\n" if form == "json" else told.text())
    return told.exit_status
