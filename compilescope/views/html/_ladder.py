"""The planner's pictures: calls by size with the rungs, cost by number of rungs, the cost curve."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from compilescope.ladder import BucketLadder
from compilescope.ladder.planner import Curve
from compilescope.ladder.planner.histogram import Histogram, histograms
from compilescope.units import count, seconds
from compilescope.views.html._plot import Mark, line_chart

if TYPE_CHECKING:
    from compilescope.ladder.planner import Choice, Rival, Score, Study

_MOST_POINTS = 60


@dataclass(frozen=True, slots=True)
class Line:
    """One ladder of the comparison, as text. ``saves`` is empty for the plan itself."""

    name: str
    rungs: int
    cost: str
    padding: str
    compile_s: str
    saves: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart and the same as a table: heads and rows of text."""

    name: str
    chart: Markup
    heads: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Recommended:
    label: str
    symbols: str
    halves: str
    code: list[str]
    verdict: str
    drifts: list[str]
    lines: list[Line]
    histograms: tuple[Histogram, ...]
    figures: list[Figure]
    notes: tuple[str, ...]


def recommended(study: Study) -> Recommended:
    half = "the first" if study.traffic.ordered else "a random"
    return Recommended(
        label=study.label,
        symbols=", ".join(study.plan.symbols),
        halves=f"planned on {half} half ({count(study.early_calls, 'call')}), "
        f"scored on the other ({study.late_calls:,})",
        code=_code(study),
        verdict=_verdict(study),
        drifts=[f"{d.symbol}: median {d.early_median} → {d.late_median}" for d in study.drifts if d.drifts],
        lines=[_line(study, "planned", study.score, None), *(_of_rival(study, r) for r in study.rivals)],
        histograms=histograms(study.traffic, study.plan.chosen.ladder),
        figures=list(_figures(study)),
        notes=study.notes,
    )


def _code(study: Study) -> list[str]:
    ladder = study.plan.chosen.ladder
    if isinstance(ladder, BucketLadder):
        return [repr(ladder)]
    if ladder.pads is not None:
        return [f"{name}: {each!r}" for name, each in zip(ladder.names, ladder.pads, strict=True)]
    return [f"pairs {list(ladder.pinned)}, one range up to {ladder.highest}"]


def _verdict(study: Study) -> str:
    plan, score = study.plan, study.score
    if plan.pays is False:
        later = "" if plan.pays_from_calls is None else f"; one would from {plan.pays_from_calls:,.0f} calls"
        return f"No rung pays over {plan.calls:,.0f} calls{later}: one dynamic artifact costs least."
    side = "below" if score.excess < 0 else "above"
    parts = [f"{100 * abs(score.excess):.1f} % {side} one artifact a size"]
    if score.unserved:
        parts.append(f"{score.unserved:,} calls larger than every rung")
    if score.idle:
        parts.append(f"{score.idle} of the rungs without a call")
    return "; ".join(parts) + "."


def _of_rival(study: Study, rival: Rival) -> Line:
    gain = rival.gain
    saves = f"{100 * gain.share:.1f} % ({100 * gain.low:.1f} to {100 * gain.high:.1f})"
    return _line(study, rival.name, rival.score, saves)


def _line(study: Study, name: str, score: Score, saves: str | None) -> Line:
    made = seconds(score.compile_s) if study.costs.is_priced else "unknown"
    padding = f"{100 * score.padding:,.0f} %"
    return Line(name, score.rungs, _cost(study, score.cost), padding, made, saves or "")


def _cost(study: Study, cost: float) -> str:
    return f"{cost:,.1f} us" if study.costs.unit == "us" else f"{cost:,.1f} elements"


def _figures(study: Study) -> Iterator[Figure]:
    if len(study.plan.by_count) > 1:
        yield _by_count(study)
    static = study.costs.static
    if isinstance(static, Curve) and static.points:
        yield _curve(static)


def _by_count(study: Study) -> Figure:
    choices = study.plan.by_count[:_MOST_POINTS]
    points = [(float(choice.rungs), choice.cost) for choice in choices]
    marks = [
        Mark(at, "chosen" if choice is study.plan.chosen else "point", _choice(study, choice))
        for choice, at in zip(choices, points, strict=True)
    ]
    chart = line_chart(
        points,
        marks,
        x_label="rungs",
        y_label=f"cost of a call ({study.costs.unit})",
        describe=f"Cost of a call against number of rungs; {_choice(study, study.plan.chosen)} is chosen.",
    )
    rows = [(str(c.rungs), _cost(study, c.cost), "chosen" if c is study.plan.chosen else "") for c in choices]
    return Figure("Cost by number of rungs", chart, ("Rungs", "Cost of a call", "Chosen"), rows)


def _choice(study: Study, choice: Choice) -> str:
    return f"{choice.rungs} rungs, {_cost(study, choice.cost)}"


def _curve(curve: Curve) -> Figure:
    step = -(-len(curve.points) // _MOST_POINTS)
    shown = curve.points[::step]
    marks = [
        Mark((float(p.size), p.cost), "chosen", f"{p.size}: {p.cost:.4g} us", p.low, p.high) for p in shown
    ]
    if curve.kind == "fitted":
        last = shown[-1].size
        points = [(0.0, curve.base), (float(last), curve.base + curve.slope * last)]
    else:
        points = [(float(p.size), p.cost) for p in shown]
    chart = line_chart(
        points,
        marks,
        x_label="size",
        y_label="cost of a call (us)",
        describe=f"Cost of a call by size: {len(curve.points)} measured points; the line is {curve.kind}.",
    )
    rows = [(f"{p.size:,}", f"{p.cost:.4g} us", f"{p.low:.4g} to {p.high:.4g} us") for p in shown]
    return Figure("Cost by size, measured points marked", chart, ("Size", "Cost of a call", "Interval"), rows)
