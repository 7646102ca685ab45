"""From what ``ladder`` was told on the command line to a study: traffic, costs, limits."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from compilescope.cli._output import write_new
from compilescope.cli._recordings import load_report
from compilescope.cli._terminal import say
from compilescope.errors import UsageError
from compilescope.units import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compilescope.analysis.report import Ladder, Report
    from compilescope.analysis.traffic import FrameTraffic
    from compilescope.ladder.planner import Costs, Limits, Study, Traffic

_WORTH_A_WORD = 50  # calls; a plan from fewer stands in the JSON only


def limits_of(options: dict[str, Any]) -> Limits:
    from compilescope.ladder.planner import Limits

    return Limits(
        **{name: options[name] for name in ("max_rungs", "align", "maximum")},
        pins=options["kind"] != "pad",
        pads=options["kind"] != "pin",
        compile_budget_s=options["compile_budget"],
        memory_budget_bytes=options["memory_budget"],
    )


def planned(source: Path, words: tuple[str, ...], limits: Limits, options: dict[str, Any]) -> Study:
    """Raises UsageError for options that contradict each other, and what planning raises."""
    from compilescope.analysis.call_costs import sampled_costs
    from compilescope.ladder.planner import load_costs, study_ladder
    from compilescope.ladder.planner.in_use import ladder_from_text

    _check(source, words, options)
    typed = options["in_use"]
    used = ladder_from_text(typed, pins=options["kind"] == "pin") if typed is not None else None
    notes: tuple[str, ...] = ()
    costs: Costs | None
    if options["measure"]:
        found = _frame(load_report(source), options)
        traffic = found.traffic
        costs, notes = _measured(found, words, limits, options)
    elif options["cost"] or source.suffix == ".json":
        traffic = _traffic(source, options)
        costs = load_costs(options["cost"]) if options["cost"] else None
    else:
        report = load_report(source)
        found = _frame(report, options)
        traffic = found.traffic
        costs, notes = sampled_costs(report, found)
    study = study_ladder(traffic, costs, limits, calls=options["calls"], in_use=used)
    return replace(study, notes=(*notes, *study.notes))


def ladder_text(ladders: Sequence[Ladder], width: int) -> str:
    """The plan of the report in a sentence, beside findings; nothing where few sizes changed."""
    ladder = next(iter(ladders), None)
    if ladder is None or ladder.calls < _WORTH_A_WORD:
        return ""
    rungs = [f"pads {' '.join(map(str, ladder.pads))}"] if ladder.pads else []
    rungs += [f"pins {' '.join(map(str, ladder.pins))}"] if ladder.pins else []
    rungs += [f"range {each.low}..{each.high} tuned at {each.hint}" for each in ladder.ranges]
    rungs += [f"{name} {' '.join(map(str, sizes))}" for name, sizes in ladder.products.items()]
    if ladder.combinations:
        rungs.append("only " + " ".join("x".join(map(str, pair)) for pair in ladder.combinations))
    basis = "" if ladder.basis == "measured" else ", with nothing measured"
    above = f"{abs(ladder.excess):.0%} {'below' if ladder.excess < 0 else 'above'} one artifact a size{basis}"
    place = f"{ladder.function} {ladder.file}:{ladder.line}"
    text = f"Buckets for {', '.join(ladder.symbols)} of {place}: {', '.join(rungs)}; {above}."
    return "\n".join(wrap(visible(f"{text} More: compilescope ladder RECORDING"), width)) + "\n"


def _check(source: Path, words: tuple[str, ...], options: dict[str, Any]) -> None:
    if words and not options["measure"]:
        raise UsageError(f"{words[0]} is one word too many", hint="a program goes with --measure")
    if not options["measure"]:
        if options["save_cost"] is not None:
            raise UsageError("--save-cost goes with --measure: nothing else is measured here")
        return
    if not words:
        raise UsageError(
            "--measure needs the program", hint="compilescope ladder REC --measure -- SCRIPT ARGS"
        )
    if source.suffix == ".json":
        raise UsageError("--measure needs a recording of the program, to know which graph to time")
    if options["cost"] is not None:
        raise UsageError("--cost and --measure both say what calls cost: give one")


def _frame(report: Report, options: dict[str, Any]) -> FrameTraffic:
    from compilescope.analysis.traffic import frame_traffic_of

    found = frame_traffic_of(report, options["frame"])
    return found.only(options["symbol"]) if options["symbol"] else found


def _traffic(source: Path, options: dict[str, Any]) -> Traffic:
    from compilescope.ladder.planner import load_traffic

    if source.suffix != ".json":
        return _frame(load_report(source), options).traffic
    traffic = load_traffic(source)
    return traffic.only(options["symbol"]) if options["symbol"] else traffic


def _measured(
    found: FrameTraffic, words: tuple[str, ...], limits: Limits, options: dict[str, Any]
) -> tuple[Costs, tuple[str, ...]]:
    from compilescope.launch import Target
    from compilescope.trial.measure_ladder import costs_json, measure_ladder, sizes_to_measure

    if len(found.traffic.names) > 2:
        raise UsageError(
            f"{len(found.traffic.names)} symbols changed: choose one or two with --symbol",
            hint=", ".join(map(ascii, found.traffic.names)),
        )
    sizes = sizes_to_measure(found.traffic, options["points"], _likely_rungs(found.traffic, limits))
    measured = measure_ladder(found, Target("script", words[0], words[1:]), sizes=sizes, say=say)
    if options["save_cost"] is not None:
        text = costs_json(measured.costs)
        write_new(options["save_cost"], partial(_save, text), force=False)
    return measured.costs, measured.notes


def _likely_rungs(traffic: Traffic, limits: Limits) -> list[int]:
    """Where rungs would be if a call cost its number of elements: sizes worth a measurement."""
    from compilescope.errors import CompileScopeError
    from compilescope.ladder.planner import Costs, plan_ladder

    plain = replace(limits, pins=True, pads=True, compile_budget_s=None, memory_budget_bytes=None)
    if len(traffic.names) > 1:
        return []
    try:
        plan = plan_ladder(traffic, Costs.assumed(), plain)
    except CompileScopeError:
        return []
    return sorted((rung.size for rung in plan.chosen.ladder.pad_rungs), reverse=True)  # type: ignore[union-attr]


def _save(text: str, file: Path) -> None:
    file.write_text(text, encoding="utf-8")
