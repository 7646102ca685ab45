"""``compilescope check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from compilescope.cli._output import write_new
from compilescope.cli._recordings import recording_argument
from compilescope.cli._terminal import say, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compilescope.advice import Finding
    from compilescope.advice.gate import Verdict

_DEFAULT = Path("compilescope-baseline.json")


@click.command()
@recording_argument
@click.option(
    "--baseline",
    "chosen",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="What is known and accepted.  [default: of pyproject.toml, else compilescope-baseline.json]",
)
@click.option(
    "--write-baseline", "renew", is_flag=True, help="Accept this run: write its findings to the baseline."
)
@click.option(
    "--after-step",
    metavar="N",
    type=click.IntRange(min=0),
    help="Count only what came after step N of the program.  [default: of pyproject.toml, else everything]",
)
@click.option("--format", "form", type=click.Choice(["text", "github"]), default="text", show_default=True)
def command(
    recording: Path, chosen: Path | None, renew: bool, after_step: int | None, form: Literal["text", "github"]
) -> int:
    """Fail when a run is worse than its baseline.

    RECORDING is the newest one of the working directory when left out. Budgets stand in the table
    [tool.compilescope.check] of the nearest pyproject.toml. Findings are known by rule, file, function and
    cause, so that moved lines change nothing. Counts are compared exactly, times by a factor; with another
    torch or device only counts. Steps are those of compilescope.step(), else calls of the outermost compiled
    function. With `--format github` what failed and warned is also shown beside the lines of a pull request.
    Exit status: 0 passed, 1 failed, 2 could not be checked.
    """
    from compilescope.advice import baseline as baselines
    from compilescope.advice import examine
    from compilescope.advice.budgets import find_budgets
    from compilescope.advice.gate import check
    from compilescope.model import load
    from compilescope.recording import open_recording
    from compilescope.trial.after_step import after_step as later
    from compilescope.units import count

    budgets = find_budgets(Path())
    path = chosen or budgets.baseline or _DEFAULT
    step = budgets.after_step if after_step is None else after_step
    opened = open_recording(recording)
    run = load(opened)
    report, findings = examine(run)
    whole = None
    if step is not None:
        found = later(opened, run, step)
        say(f"counted after step {step} of {found.count}; steps are {found.basis}")
        whole, (report, findings) = report, examine(found.run)
    if renew:
        text = baselines.to_json(baselines.baseline_of(report, findings, step))
        write_new(path, lambda file: _save(file, text), force=True)
        say(f"wrote {path}: accepts {count(len(findings), 'finding')} from now on")
        return 0
    known = baselines.read(path)
    if known is not None:
        baselines.require_step(known, step, path)
    verdict = check(report, findings, budgets, known, whole=whole)
    if form == "github":
        write(_annotations(verdict, findings))
    write(_text(verdict))
    return verdict.exit_status


def _annotations(verdict: Verdict, findings: Sequence[Finding]) -> str:
    from compilescope.views.markdown import github

    places = {f.identity: (f.file, f.line, f.rule) for f in findings}
    return github.commands(
        ("error" if level == "fail" else "warning", o.text, *places.get(o.identity or "", (None, None, None)))
        for level in ("fail", "warn")
        for o in verdict.of(level)
    )


def _save(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


def _text(verdict: Verdict) -> str:
    from compilescope.units import count, visible

    rows = [
        f"{o.level:4}  {visible(o.text)}" for level in ("fail", "warn", "info") for o in verdict.of(level)
    ]
    failed, warned = len(verdict.of("fail")), len(verdict.of("warn"))
    word = "FAILED" if failed else "passed"
    return "\n".join([*rows, f"{word}: {count(failed, 'failure')}, {count(warned, 'warning')}"]) + "\n"
