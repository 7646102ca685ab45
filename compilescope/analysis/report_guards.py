"""Rows of the report about guard checking: what it costs each function, of the time one call takes."""

from __future__ import annotations

from dataclasses import dataclass, field

from compilescope.analysis.report_missing import Missing


@dataclass(frozen=True, slots=True)
class GuardCost:
    """What checking the guards of one function costs. ``share`` is of the time from call to call.

    ``check_us`` is one check with warm caches, as timed when the entry was made, weighted by the calls of
    each entry. Entries that are tried in vain before the one that fits are not in it: with more than one
    entry the true cost is higher. ``call_us`` includes whatever the program does between two calls.
    """

    function: str
    file: str
    line: int
    process: str
    entries: int  # whose check was timed
    guards: int | None  # of the entry called most
    check_us: float | None
    cold_check_us: float | None  # torch's figure for the same entry: it flushes the processor's caches first
    calls: int | None
    checks_s: float | None  # check_us times calls
    call_us: float | None
    call_basis: str | None  # "measured: ..." | "estimated: ..."
    share: float | None  # 0..1: check_us / call_us, at most 1
    missing: list[Missing] = field(default_factory=list)
