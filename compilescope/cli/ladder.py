"""``compilescope ladder``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from compilescope.cli._ladder import limits_of, planned
from compilescope.cli._terminal import default_width, is_utf8, write

FORMS = ("text", "json", "python", "mark-dynamic", "vllm", "pads")


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("words", metavar="[-- SCRIPT [ARGS]...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--max-rungs", type=click.IntRange(1, 1024), default=8, show_default=True)
@click.option("--align", type=click.IntRange(1), default=1, help="Rungs are multiples of this.")
@click.option("--compile-budget", type=float, metavar="S", help="Seconds all rungs may take to make.")
@click.option("--memory-budget", type=float, metavar="BYTES", help="Bytes all rungs may keep.")
@click.option("--pin", "kind", flag_value="pin", help="Exact sizes only: nothing is padded.")
@click.option("--pad", "kind", flag_value="pad", help="Padded sizes only.")
@click.option("--cost", type=click.Path(path_type=Path), help="JSON file of measured costs.")
@click.option("--measure", is_flag=True, help="Run SCRIPT again to time its graph at chosen sizes.")
@click.option("--points", type=click.IntRange(2, 64), default=8, show_default=True, help="How many sizes.")
@click.option("--save-cost", type=click.Path(path_type=Path), help="Write what was measured, for --cost.")
@click.option("--calls", type=float, help="Calls that pay for the rungs.  [default: those of SOURCE]")
@click.option("--maximum", type=click.IntRange(1), help="The largest size that may ever come.")
@click.option("--symbol", multiple=True, help="Plan this symbol; twice for a product of two.")
@click.option("--frame", default="", help="Of a recording: the frame whose name or file holds this.")
@click.option("--in-use", metavar="16,32,...", help="The ladder to compare with.")
@click.option("--emit", type=click.Choice(FORMS), default="text", show_default=True)
def command(source: Path, words: tuple[str, ...], emit: str, **options: Any) -> None:
    """Recommend buckets from real sizes and their cost.

    SOURCE is a JSON file of sizes in order of time, or a recording. The ladder is planned on the first half
    of the calls and scored on the other, beside ladders people use without planning.

    With --measure the recorded SCRIPT is started again, its graph is timed at chosen sizes, static and
    dynamic by turns, and the program is ended; SOURCE is then a recording.
    """
    from compilescope.ladder.planner.emit import FORMS as CODE
    from compilescope.ladder.planner.json_form import study_json
    from compilescope.views import ladder_text

    study = planned(source, words, limits_of(options), options)
    if emit == "text":
        write(ladder_text.render(study, width=default_width(), ascii=not is_utf8(sys.stdout)))
    else:
        write(study_json(study) if emit == "json" else CODE[emit](study.plan))
