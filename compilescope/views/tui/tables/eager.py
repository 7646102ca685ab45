"""What runs without torch.compile: limit hits, failures and skipped frames in one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compilescope.analysis.paths import called
from compilescope.views.tui._card import Card
from compilescope.views.tui._table import Column, Table, Tone, known_first
from compilescope.views.tui._words import number, one_line, place, value
from compilescope.views.tui.tables._none import nothing

if TYPE_CHECKING:
    from compilescope.analysis.report import Failure, LimitHit, Report, Skip

_RANK = {"limit": 3, "failure": 2, "skip": 1}


@dataclass(frozen=True, slots=True)
class Eager:
    kind: str
    why: str
    card: Card
    eager_calls: int | None = None


def _limit(hit: LimitHit) -> Eager:
    cause = hit.last_cause
    changed = f"{cause.source}  {value(cause.old)} -> {value(cause.new)}" if cause else None
    limit = "" if hit.limit is None else f" ({hit.limit})"
    why = f"recompile limit{limit}: {cause.source} kept changing" if cause else f"recompile limit{limit}"
    facts = [
        ("limit", None if hit.limit is None else f"{hit.limit} compiled versions"),
        ("last change", changed),
        ("eager calls", _of(hit.eager_calls, hit.total_calls)),
        ("called from", hit.called_from),
    ]
    title = f"{called(hit.function)} hit the recompile limit: what fits no graph of it runs eager"
    card = Card(title, hit.file, hit.line, hit.function, hit.process, facts=facts)
    return Eager("limit", why, card, hit.eager_calls)


def _of(eager: int | None, total: int | None) -> str:
    return f"{number(eager)} of {number(total)}"


def _failure(failure: Failure) -> Eager:
    outcome = "suppressed: ran eagerly" if failure.suppressed else "raised into the program"
    facts = [("exception", failure.exception), ("phase", failure.phase), ("outcome", outcome)]
    card = Card(
        f"compiling {failure.function or 'a frame'} failed: {failure.exception}",
        failure.file,
        failure.line,
        failure.function,
        failure.process,
        failure.code,
        facts,
        lists=[("message", failure.message[:20_000].splitlines())],
        compile_ids=[failure.compile_id] if failure.compile_id else [],
    )
    return Eager("failure", f"{failure.exception}: {failure.message[:300]}", card)


def _skip(skip: Skip) -> Eager:
    why = skip.reason or "torch gave no reason"
    facts = [("reason", why)]
    card = Card(
        f"torch left {called(skip.function)} to the interpreter",
        skip.file,
        skip.line,
        skip.function,
        skip.process,
        facts=facts,
    )
    return Eager("skip", why, card)


def _tone(row: Eager) -> Tone:
    return "" if row.kind == "skip" else "bad"


def _rows(report: Report) -> list[Eager]:
    limits = map(_limit, report.limit_hits)
    return [*limits, *map(_failure, report.failures), *map(_skip, report.skips)]


EAGER: Table[Eager] = Table(
    rows=_rows,
    columns=(
        Column(
            "kind",
            lambda row: row.kind,
            width=8,
            tone=_tone,
            sort=lambda row: _RANK[row.kind],
            about="the recompile limit, a failed compile, or a frame torch skipped",
        ),
        Column(
            "function", lambda row: row.card.function or "", share=2, sort=lambda row: row.card.function or ""
        ),
        Column("why", lambda row: one_line(row.why, 300), share=5, sort=lambda row: row.why),
        Column(
            "eager calls",
            lambda row: number(row.eager_calls) if row.kind == "limit" else "",
            width=12,
            right=True,
            above=70,
            sort=lambda row: known_first(row.eager_calls),
            about="calls that ran without compiled code (counted)",
        ),
        Column(
            "where",
            lambda row: place(row.card.file, row.card.line),
            share=3,
            cut="left",
            sort=lambda row: (row.card.file or "", row.card.line or 0),
        ),
    ),
    card=lambda row: row.card,
    key=lambda row: (row.kind, row.card.process, row.card.file, row.card.line, row.card.function, row.why),
    empty=lambda report: nothing(
        report, "Nothing: all frames torch looked at were compiled, and none was refused later."
    ),
)
