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
_MOST_SPREAD = 8


def merged_breaks(rows: Iterable[GraphBreak]) -> list[GraphBreak]:
    """Events and executions added; unknown where one process does not know them."""
    return _merged(
        rows,
        lambda r: (r.file, r.line, tuple(r.gb_types)),
        lambda a, b: replace(
            a,
            events=a.events + b.events,
            runtime_hits=_sum(a.runtime_hits, b.runtime_hits),
            runtime_hits_basis=(b if b.ran_at_least else a).runtime_hits_basis,
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


def merged_limits(rows: Iterable[LimitHit]) -> list[LimitHit]:
    """Calls added. ``process`` names all of them in order: :func:`spread` has the counts of each."""
    return _merged(
        rows,
        lambda r: (r.function, r.file, r.line),
        lambda a, b: replace(
            a,
            eager_calls=_sum(a.eager_calls, b.eager_calls),
            total_calls=_sum(a.total_calls, b.total_calls),
            process=a.process + _JOIN + b.process,
        ),
    )


def merged_recompiles(rows: Iterable[Recompile]) -> list[Recompile]:
    """Counts and seconds added; the values are those of the first process."""
    return _merged(
        rows,
        lambda r: (r.function, r.file, r.line, r.kind, r.source),
        lambda a, b: replace(
            a,
            count=a.count + b.count,
            blocked_by_limit=a.blocked_by_limit + b.blocked_by_limit,
            named_by_torch=a.named_by_torch + b.named_by_torch,
            benign=a.benign and b.benign,
            wasted_compile_s=_sum(a.wasted_compile_s, b.wasted_compile_s),
            process=a.process + _JOIN + b.process,
        ),
    )


def processes_of(row: Row) -> list[str]:
    """The processes a merged row stands for."""
    return list(dict.fromkeys(row.process.split(_JOIN)))


def spread(counts: Iterable[int | None]) -> str | None:
    """ "12, 13 and 12"; None where one is unknown or all are the same."""
    known = list(counts)
    if None in known or len(set(known)) < 2:
        return None
    shown = [f"{n:,}" for n in known[:_MOST_SPREAD]]
    if len(known) > _MOST_SPREAD:
        return f"{', '.join(shown)} and {len(known) - _MOST_SPREAD:,} more"
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


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


Number = TypeVar("Number", int, float)


def _sum(a: Number | None, b: Number | None) -> Number | None:
    return None if a is None or b is None else a + b
