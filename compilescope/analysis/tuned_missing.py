"""Why a field of an autotuned operation's row is null."""

from __future__ import annotations

from compilescope.analysis.report_missing import Missing
from compilescope.analysis.report_tuned import TunedRow

_WHY = {
    "winner": "no candidate could be timed",
    "winner_backend": "no candidate could be timed",
    "winner_ms": "no candidate could be timed",
    "second": "fewer than two candidates have a time",
    "second_ms": "fewer than two candidates have a time",
    "margin": "fewer than two candidates have a time",
    "default": "no library call was among the candidates that were recorded",
    "default_ms": "no library call was timed",
    "margin_over_default": "no library call was timed",
    "emitted": "the kernels that were read do not show it",
    "emitted_ms": "what the code launches has no time of its own",
    "winner_config": "a library call, or a template that names no configuration",
    "slower_than_default": "what the code launches, or the library call, has no time of its own",
    "calls": "they were not counted, or no rung of the ladder can be told to be this one",
}
_NOT_TIMED = "no other compile timed this choice near the sizes it is used at"


def missing_of(row: TunedRow) -> list[Missing]:
    found = [Missing(name, why) for name, why in _WHY.items() if getattr(row, name) is None]
    if row.calls_far and row.slowdown is None:
        found.append(Missing("slowdown", _NOT_TIMED))
    return found
