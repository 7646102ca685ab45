"""``compilescope ladder``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from compilescope.cli._recordings import load_report
from compilescope.cli._terminal import default_width, is_utf8, write

if TYPE_CHECKING:
    from compilescope.ladder.planner import Limits, Traffic

FORMS = ("text", "json", "python", "mark-dynamic", "vllm", "pads")


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--max-rungs", type=click.IntRange(1, 1024), default=8, show_default=True)
@click.option("--align", type=click.IntRange(1), default=1, help="Rungs are multiples of this.")
@click.option("--compile-budget", type=float, metavar="S", help="Seconds all rungs may take to make.")
@click.option("--memory-budget", type=float, metavar="BYTES", help="Bytes all rungs may keep.")
@click.option("--pin", "kind", flag_value="pin", help="Exact sizes only: nothing is padded.")
@click.option("--pad", "kind", flag_value="pad", help="Padded sizes only.")
@click.option("--cost", type=click.Path(path_type=Path), help="JSON file of measured costs.")
@click.option("--calls", type=float, help="Calls that pay for the rungs.  [default: those of SOURCE]")
@click.option("--maximum", type=click.IntRange(1), help="The largest size that may ever come.")
@click.option("--symbol", multiple=True, help="Plan this symbol; twice for a product of two.")
@click.option("--frame", default="", help="Of a recording: the frame whose name or file holds this.")
@click.option("--in-use", metavar="16,32,...", help="The ladder to compare with.")
@click.option("--emit", type=click.Choice(FORMS), default="text", show_default=True)
def command(source: Path, cost: Path | None, emit: str, **options: Any) -> None:
    """Recommend buckets from real sizes and their cost.

    SOURCE is a JSON file of sizes in order of time, or a recording. The ladder is planned on the first half
    of the calls and scored on the other, beside ladders people use without planning.
    """
    from compilescope.ladder.planner import load_costs, study_ladder
    from compilescope.ladder.planner.emit import FORMS as CODE
    from compilescope.ladder.planner.in_use import ladder_from_text
    from compilescope.ladder.planner.json_form import study_json
    from compilescope.views import ladder_text

    traffic, costs = _traffic(source, options), load_costs(cost) if cost else None
    typed, pins = options["in_use"], options["kind"] == "pin"
    used = ladder_from_text(typed, pins=pins) if typed is not None else None
    study = study_ladder(traffic, costs, _limits(options), calls=options["calls"], in_use=used)
    if emit == "text":
        write(ladder_text.render(study, width=default_width(), ascii=not is_utf8(sys.stdout)))
    else:
        write(study_json(study) if emit == "json" else CODE[emit](study.plan))


def _limits(options: dict[str, Any]) -> Limits:
    from compilescope.ladder.planner import Limits

    return Limits(
        **{name: options[name] for name in ("max_rungs", "align", "maximum")},
        pins=options["kind"] != "pad",
        pads=options["kind"] != "pin",
        compile_budget_s=options["compile_budget"],
        memory_budget_bytes=options["memory_budget"],
    )


def _traffic(source: Path, options: dict[str, Any]) -> Traffic:
    from compilescope.analysis.traffic import traffic_of
    from compilescope.ladder.planner import load_traffic

    is_file = source.suffix == ".json"
    traffic = load_traffic(source) if is_file else traffic_of(load_report(source), options["frame"])
    return traffic.only(options["symbol"]) if options["symbol"] else traffic
