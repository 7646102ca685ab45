"""What makes a set of rungs a ladder. Each check raises LadderError with the rung and what to change."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from compilescope.ladder.errors import LadderError
from compilescope.ladder.rungs import Pad, Pin, Range, Rung


def check_rungs(rungs: tuple[Rung, ...], minimum: int | None, maximum: int | None) -> None:
    _check_once(rungs)
    pins = [rung for rung in rungs if isinstance(rung, Pin)]
    pads = [rung for rung in rungs if isinstance(rung, Pad)]
    ranges = [rung for rung in rungs if isinstance(rung, Range)]
    _check_overlap(ranges)
    _check_reachable(pins, pads, ranges)
    _check_bounds(rungs, minimum, maximum)


def _check_once(rungs: tuple[Rung, ...]) -> None:
    twice = [rung.label for rung, count in Counter(rungs).items() if count > 1]
    if twice:
        raise LadderError(f"rung {twice[0]} is there more than once", hint="Leave the repetition out.")


def _check_overlap(ranges: list[Range]) -> None:
    ordered = sorted(ranges, key=lambda span: span.low)
    for left, right in pairwise(ordered):
        if right.low <= left.high:
            raise LadderError(
                f"ranges {left.label} and {right.label} overlap at {right.low}..{min(left.high, right.high)}",
                hint=f"Start the second at {left.high + 1}, or make one range of both.",
            )


def _check_reachable(pins: list[Pin], pads: list[Pad], ranges: list[Range]) -> None:
    exact = {pin.size for pin in pins}
    for pad in pads:
        if pad.size in exact:
            raise LadderError(
                f"{pad.size} is a pin and a pad", hint="A pad serves its own size too: leave the pin out."
            )
    highest_pad = max((pad.size for pad in pads), default=0)
    for span in ranges:
        start = max(span.low, highest_pad + 1)
        unpinned = span.high - start + 1 - sum(start <= size <= span.high for size in exact)
        if unpinned <= 0:
            raise LadderError(
                f"range {span.label} can never be reached: a pin or a pad serves each of its sizes",
                hint="Leave the range out.",
            )


def _check_bounds(rungs: tuple[Rung, ...], minimum: int | None, maximum: int | None) -> None:
    if minimum is not None and maximum is not None and minimum > maximum:
        raise LadderError(f"the declared minimum {minimum} is above the declared maximum {maximum}")
    for rung in rungs:
        if maximum is not None and _starts_above(rung, rungs, maximum):
            raise LadderError(f"rung {rung.label} is above the declared maximum {maximum}")
        if minimum is not None and rung.high < minimum:
            raise LadderError(f"rung {rung.label} is below the declared minimum {minimum}")


def _starts_above(rung: Rung, rungs: tuple[Rung, ...], maximum: int) -> bool:
    """A pad may lie above the maximum when it is the first that holds it."""
    if isinstance(rung, Pad):
        return any(isinstance(other, Pad) and maximum <= other.size < rung.size for other in rungs)
    return rung.low > maximum
