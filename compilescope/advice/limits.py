"""Recompile limits that no recompile row explains."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from compilescope.advice.cause import Cause, Place, Telling, finding
from compilescope.advice.facts import Facts, Named, Rows
from compilescope.advice.finding import Finding
from compilescope.analysis.paths import called
from compilescope.analysis.report import LimitHit


def unexplained_limits(facts: Facts, rows: Rows) -> Iterator[Finding]:
    """A limit was hit and no guard tells why: the count of eager calls is all there is."""
    groups: dict[tuple[str, str], list[Named[LimitHit]]] = defaultdict(list)
    for named in rows.limits:
        groups[facts.function_key(named.row.file, named.row.line, named.row.function)].append(named)
    for group in groups.values():
        row = group[0].row
        last = row.last_cause.source if row.last_cause else None
        telling = Telling(
            rule="recompile_limit_hit",
            fix_kind="see_guard",
            summary=f"{called(row.function)} hit the recompile limit: what fits no graph of it runs eager",
            fix="find what changes between calls" + (f": torch last named {last}" if last else ""),
            subject=last or "limit",
            confidence="low",
            could_be_wrong="the last failing guard is not always the main cause",
        )
        place = Place(row.file, row.line, row.function, None, row.called_from)
        yield finding(facts, Cause(limits=tuple(group)), place, telling, "high")
