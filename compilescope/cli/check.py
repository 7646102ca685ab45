"""``compilescope check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from compilescope.cli._output import write_new
from compilescope.cli._recordings import recording_argument
from compilescope.cli._terminal import say, write

if TYPE_CHECKING:
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
def command(recording: Path, chosen: Path | None, renew: bool) -> int:
    """Fail when a run is worse than its baseline.

    RECORDING is the newest one of the working directory when left out. Budgets stand in the table
    [tool.compilescope.check] of the nearest pyproject.toml. Findings are known by rule, file, function and
    cause, so that moved lines change nothing. Counts are compared exactly, times by a factor; with another
    torch or device only counts. Exit status: 0 passed, 1 failed, 2 could not be checked.
    """
    from compilescope.advice import baseline as baselines
    from compilescope.advice import examine
    from compilescope.advice.budgets import find_budgets
    from compilescope.advice.gate import check
    from compilescope.model import load
    from compilescope.recording import open_recording
    from compilescope.units import count

    budgets = find_budgets(Path())
    path = chosen or budgets.baseline or _DEFAULT
    report, findings = examine(load(open_recording(recording)))
    if renew:
        text = baselines.to_json(baselines.baseline_of(report, findings))
        write_new(path, lambda file: _save(file, text), force=True)
        say(f"wrote {path}: accepts {count(len(findings), 'finding')} from now on")
        return 0
    verdict = check(report, findings, budgets, baselines.read(path))
    write(_text(verdict))
    return verdict.exit_status


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
