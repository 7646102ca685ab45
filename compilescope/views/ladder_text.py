"""A planned ladder for a terminal: the ladder, what it saves, where the calls are."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from compilescope.ladder import BucketLadder
from compilescope.ladder.planner import LadderPlan, Rival, Score, Study
from compilescope.ladder.planner.histogram import Bar, histograms
from compilescope.ladder.planner.study import with_more_calls
from compilescope.units import count, seconds, visible
from compilescope.views import ladder_text_pictures

_BLOCK, _HASH = "█", "#"
_NARROWEST = 40


def render(study: Study, *, width: int = 80, ascii: bool = False) -> str:
    """At most ``width`` columns except for the line of code, which is there to be copied."""
    width = max(width, _NARROWEST)
    outgrown = with_more_calls(study.costs, study.plan)
    verdict = [_verdict(study.plan, study), *([f"{outgrown[0].upper()}{outgrown[1:]}."] if outgrown else [])]
    blocks = [_wrapped(_head(study), width), [*_code(study), *_wrapped(verdict, width)]]
    blocks += [
        [line[:width] for line in block]
        for block in (
            _table(study),
            _bars(study, width, ascii),
            ladder_text_pictures.curve(study, width),
            ladder_text_pictures.counts(study, width, _HASH if ascii else _BLOCK),
        )
    ]
    blocks += [_wrapped([f"Note: {note}." for note in study.notes if note != outgrown], width)]
    page = "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks if block) + "\n"
    return page.encode("ascii", "backslashreplace").decode("ascii") if ascii else page


def _wrapped(paragraphs: Sequence[str], width: int) -> list[str]:
    return [line for text in paragraphs for line in wrap(text, width, subsequent_indent="  ")]


def _head(study: Study) -> list[str]:
    halves = "first half" if study.traffic.ordered else "random half"
    lines = [
        f"Ladder for {visible(', '.join(study.plan.symbols))} of {visible(study.label)}",
        f"{count(study.traffic.calls, 'call')}; planned on the {halves} ({study.early_calls:,}), "
        f"scored on the other ({study.late_calls:,})",
    ]
    for drift in study.drifts:
        if drift.drifts:
            lines.append(
                f"Drift: median {visible(drift.symbol)} {drift.early_median} -> {drift.late_median}"
                f" (Kolmogorov-Smirnov {drift.statistic:.2f}, above {drift.critical:.2f})"
            )
    return lines


def _code(study: Study) -> list[str]:
    ladder = study.plan.chosen.ladder
    if isinstance(ladder, BucketLadder):
        code = [repr(ladder)]
    elif ladder.combinations:
        pairs = ["x".join(map(str, pair)) for pair in ladder.combinations]
        code = [f"only these {visible(' x '.join(ladder.names))}: {', '.join(pairs)}"]
    elif ladder.pads is not None:
        code = [f"{visible(name)}: {each!r}" for name, each in zip(ladder.names, ladder.pads, strict=True)]
    else:
        code = [f"pairs {list(ladder.pinned)}, one range up to {ladder.highest}"]
    return [f"    {line}" for line in code]


def _verdict(plan: LadderPlan, study: Study) -> str:
    within = f"over {plan.calls:,.0f} calls"
    if plan.pays is False:
        if plan.pays_from_calls is None:
            return f"No rung pays {within}: one dynamic artifact costs least."
        return f"No rung pays {within}; one would from {plan.pays_from_calls:,.0f} calls."
    score = study.score
    parts = [f"{_percent(abs(score.excess))} {'below' if score.excess < 0 else 'above'} one artifact a size"]
    if score.unserved:
        parts.append(f"{count(score.unserved, 'call')} larger than every rung")
    if score.idle:
        parts.append(f"{count(score.idle, 'rung')} without a call")
    if plan.pays and plan.pays_from_calls is not None:
        parts.append(f"rungs earned after {plan.pays_from_calls:,.0f} calls")
    uncertain = plan.pays and study.pays is None
    doubt = " Whether that is less than one dynamic artifact is not certain." if uncertain else ""
    return f"{'; '.join(parts)}.{doubt}"


def _table(study: Study) -> list[str]:
    head = (
        f"{'ladder':<15}{'rungs':>6}{'cost/call':>11}{'padding':>8}{'compile':>8}  {'plan saves (95 %)':<23}"
    )
    head += "equal n" if any(rival.same_count for rival in study.rivals) else ""
    rows = [_row(study, "planned", study.score, "")]
    rows += [_row(study, rival.name, rival.score, _saving(rival)) for rival in study.rivals]
    return [head, *rows]


def _row(study: Study, name: str, score: Score, saving: str) -> str:
    cost = ladder_text_pictures.cost_text(score.cost, study.costs.unit)
    made = _compile_time(score.compile_s) if study.costs.is_priced else "?"
    padding = f"{100 * score.padding:,.0f} %"
    return f"{visible(name):<15}{score.rungs:>6}{cost:>11}{padding:>8}{made:>8}  {saving}"


def _compile_time(taken_s: float) -> str:
    """At most seven characters: 148 s, 41 min, 278 h."""
    if taken_s < 60:
        return seconds(taken_s)
    if taken_s < 1000:
        return f"{taken_s:.0f} s"
    return f"{taken_s / 60:.0f} min" if taken_s < 60_000 else f"{taken_s / 3600:,.0f} h"


def _saving(rival: Rival) -> str:
    gain = rival.gain
    text = f"{_percent(gain.share)} ({_hundredths(gain.low)} to {_hundredths(gain.high)})"
    if rival.same_count is None:
        return text
    return f"{text:<22} {_percent(1 - rival.same_count.cost / rival.score.cost)}"


def _percent(share: float) -> str:
    return f"{_hundredths(share)} %"


def _hundredths(share: float) -> str:
    text = f"{100 * share:.1f}"
    return "0.0" if text == "-0.0" else text


def _bars(study: Study, width: int, ascii: bool) -> list[str]:
    lines: list[str] = []
    for histogram in histograms(study.traffic, study.plan.chosen.ladder):
        most = max(bar.calls for bar in histogram.bars)
        labels = [str(bar.low) if bar.low == bar.high else f"{bar.low}-{bar.high}" for bar in histogram.bars]
        wide = max(map(len, labels))
        room = max(5, width - wide - 32)
        lines.append(f"{visible(histogram.symbol)}: calls, and rungs")
        for label, bar in zip(labels, histogram.bars, strict=True):
            lines.append(f"{label:>{wide}}  {_bar(bar, most, room, _HASH if ascii else _BLOCK)}")
    return lines


def _bar(bar: Bar, most: int, room: int, block: str) -> str:
    length = max(round(bar.calls / most * room), 1 if bar.calls else 0)
    rungs = " ".join(map(str, bar.rungs[:4])) + (" ..." if len(bar.rungs) > 4 else "")
    return f"{block * length:<{room}} {bar.calls:>7,}  {'<- ' + rungs if rungs else ''}"
