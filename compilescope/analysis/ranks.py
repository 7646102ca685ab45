"""The same row of several processes as one: ranks that run one program meet one break, each for itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import TypeVar

from compilescope.analysis.report import Failure, GraphBreak, LimitHit, Recompile

Row = TypeVar("Row", GraphBreak, Recompile, LimitHit, Failure)
_RANK = re.compile(r"^rank(\d+)-")
_JOIN = ", "


def merged_breaks(rows: Iterable[GraphBreak]) -> list[GraphBreak]:
    """Events and executions added; unknown where one process does not know them."""
    return _merged(
        rows,
        lambda r: (r.file, r.line, tuple(r.gb_types)),
        lambda a, b: replace(
            a,
            events=a.events + b.events,
            runtime_hits=_sum(a.runtime_hits, b.runtime_hits),
            compile_ids=list(dict.fromkeys((*a.compile_ids, *b.compile_ids))),
            process=a.process + _JOIN + b.process,
        ),
    )


def merged_failures(rows: Iterable[Failure]) -> list[Failure]:
    return _merged(
        rows,
        lambda r: (r.exception, r.file, r.line, r.function, r.suppressed),
        lambda a, b: a if a.process == b.process else replace(a, process=a.process + _JOIN + b.process),
    )


def where(process: str) -> str | None:
    """ "on ranks 0 and 1", "in 3 processes"; None for one process."""
    names = list(dict.fromkeys(process.split(_JOIN)))
    if len(names) < 2:
        return None
    ranks = [int(match[1]) for name in names if (match := _RANK.match(name))]
    if len(ranks) < len(names):
        return f"in {len(names)} processes"
    texts = [str(rank) for rank in sorted(ranks)]
    return f"on ranks {', '.join(texts[:-1])} and {texts[-1]}"


def _merged(
    rows: Iterable[Row], key: Callable[[Row], Hashable], join: Callable[[Row, Row], Row]
) -> list[Row]:
    """In order of the first; rows of one process stay apart."""
    found: dict[Hashable, Row] = {}
    for number, row in enumerate(rows):
        place = key(row)
        known = found.get(place)
        if known is None:
            found[place] = row
        elif row.process in known.process.split(_JOIN):
            found[(place, number)] = row
        else:
            found[place] = join(known, row)
    return list(found.values())


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b
