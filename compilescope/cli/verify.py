"""``compilescope verify``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import click

from compilescope.cli._terminal import say, write
from compilescope.errors import UsageError
from compilescope.launch import Target


@click.command()
@click.option(
    "--apply", "rules", metavar="RULE", multiple=True, help="Apply a finding's change by a setting."
)
@click.option(
    "--apply-diff", "diffs", metavar="RULE", multiple=True, help="Apply a finding's diff to a copy."
)
@click.option(
    "--set", "pairs", metavar="NAME=VALUE", multiple=True, help="Apply a setting of torch, or mode=..."
)
@click.option("--against", type=click.Choice(["eager"]), help="Compare with running eager instead.")
@click.option(
    "-n", "--repeats", type=click.IntRange(1, 50), default=2, show_default=True, help="Runs a side."
)
@click.option("--warm-cache", is_flag=True, help="Keep torch's compile caches, instead of empty ones a run.")
@click.option(
    "--keep", metavar="DIR", type=click.Path(path_type=Path), help="Keep recordings and outputs here."
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.argument("recording", metavar="REC", type=click.Path(path_type=Path))
@click.argument("words", metavar="-- SCRIPT [ARGS]...", nargs=-1, required=True, type=click.UNPROCESSED)
def command(
    rules: tuple[str, ...],
    diffs: tuple[str, ...],
    pairs: tuple[str, ...],
    against: str | None,
    repeats: int,
    warm_cache: bool,
    keep: Path | None,
    form: Literal["text", "json"],
    recording: Path,
    words: tuple[str, ...],
) -> int:
    """Run a program again with a change: did it help?

    REC is a recording of the program. --apply and --apply-diff take rules of its
    findings, or `all`; without any change SCRIPT is the edited program, and what was recorded is what it is
    compared with. Both sides run by turns. Exit status: 1 when the change is harmful or did nothing, or when
    compiling is shown not to pay; 0 otherwise.
    """
    from compilescope.cli._trial import kept_folder, settings_of
    from compilescope.trial import against_eager, verify
    from compilescope.trial.changes import Change
    from compilescope.trial.plain import eager_json, trial_json
    from compilescope.trial.text import eager_text, trial_text

    target = Target("script", words[0], words[1:])
    settings, mode = settings_of(pairs)
    with kept_folder(keep) as folder:
        if against is not None:
            if rules or diffs:
                raise UsageError("--against eager goes with --set, not with --apply or --apply-diff")
            change = Change(settings=settings, mode=mode)
            answer = against_eager(
                target, repeats=repeats, folder=folder, change=change, fresh_cache=not warm_cache, say=say
            )
            write(json.dumps(eager_json(answer), indent=2) + "\n" if form == "json" else eager_text(answer))
            return 1 if answer.pays is False else 0
        trial = verify(
            recording, target, rules=rules, diffs=diffs, settings=settings, mode=mode,
            repeats=repeats, folder=folder, fresh_cache=not warm_cache, say=say,
        )  # fmt: skip
    write(json.dumps(trial_json(trial), indent=2) + "\n" if form == "json" else trial_text(trial))
    words_found = {outcome.verdict.word for outcome in trial.outcomes}
    return 1 if "harmful" in words_found or (words_found and "verified" not in words_found) else 0
