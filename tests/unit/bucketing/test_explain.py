from __future__ import annotations

from compilescope.bucketing import Explanation
from compilescope.observer import DispatchCount, EntryCaptured, Event, RungCompiled, RungFailed, RungRefused


def captured(entry: int, bypassed: str | None = None, location: str | None = "m.py:3 in f") -> EntryCaptured:
    return EntryCaptured("b", entry, f"0/{entry}", location, True, "grad", (), bypassed)


def compiled(rung: str, low: int, high: int | None, **more: object) -> RungCompiled:
    kind = "pin" if low == high else "range"
    values = {"backend": "b", "entry": 0, "rung": rung, "kind": kind, "sizes": (("tokens", low, high),)}
    rest = {"hints": (), "inputs": (), "wall_s": 1.5, "cache": "miss", "kernels": 3, "predicate": ()}
    return RungCompiled(**(values | rest | more))  # type: ignore[arg-type]


EVENTS: list[Event] = [
    captured(0),
    RungRefused(
        "b", 0, "4096", "pin", "a guard of the trace excludes this size", "s0 <= 24", "if n > 24:  # m.py:2"
    ),
    compiled("16", 16, 16),
    compiled("20..24@22", 20, None, same_code_as="16", split_from="20..90@50", predicate=("batch <= 256",)),
    RungFailed("b", 0, "32", "pin", "RuntimeError: no\nregisters \x1b[2J", 0.25),
    captured(1, "tokens is x.size(0) == 1", location=None),
]
COUNTS = [
    DispatchCount("b", 0, "16", "exact", ("tokens",), (16,), 5),
    DispatchCount("b", 0, "eager", "eager", ("tokens",), (99,), 2),
    DispatchCount("b", 1, "bypassed", "bypassed", (), (), 4),
]


def test_hits_and_fallbacks_belong_to_their_entry() -> None:
    explanation = Explanation.of(EVENTS, COUNTS)
    first, second = explanation.entries
    assert {line.event.rung: line.hits for line in first.rungs} == {
        "4096": 0,
        "16": 5,
        "20..24@22": 0,
        "32": 0,
    }
    assert first.calls == 7
    assert first.fallbacks == (("dynamic", 0), ("eager", 2))
    assert second.calls == 4
    assert explanation.unadmitted == ("4096",)


def test_the_text_says_what_where_and_why() -> None:
    text = str(Explanation.of(EVENTS, COUNTS))
    assert "entry 0 [0/0] grad, m.py:3 in f" in text
    assert "tokens=16" in text
    assert "tokens=20.." in text
    assert "same code as 16; part of 20..90@50; only where batch <= 256" in text
    assert "refused: a guard of the trace excludes this size: s0 <= 24 at if n > 24: # m.py:2" in text
    assert "failed: RuntimeError: no registers ?[2J" in text
    assert "7 calls: 0 by dynamic, 2 by eager" in text
    assert "no rungs: tokens is x.size(0) == 1" in text
    assert "no source line" in text
    assert "no entry admits: 4096" in text
    assert "\x1b" not in text


def test_before_the_first_call_there_is_nothing() -> None:
    assert str(Explanation.of([], [])).startswith("nothing captured")
