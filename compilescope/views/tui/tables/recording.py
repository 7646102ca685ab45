"""What the recording holds and what it cannot tell: processes, missing facts, damage, diagnoses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compilescope.views.finding_words import fact_words
from compilescope.views.tui._card import Card
from compilescope.views.tui._table import Column, Table, Tone
from compilescope.views.tui._words import number, one_line

if TYPE_CHECKING:
    from compilescope.analysis.report import Damage, Missing, ProcessInfo, Report


@dataclass(frozen=True, slots=True)
class Entry:
    kind: str  # process | diagnosis | missing | damage | unknown record
    what: str
    why: str
    card: Card


def _process(process: ProcessInfo) -> Entry:
    rank = None if process.rank is None else f"{process.rank} of {number(process.world_size)}"
    facts = [
        ("ended", process.ended),
        ("rank", rank),
        ("pid", None if process.pid is None else str(process.pid)),
        ("device", process.device),
        ("torch", process.torch),
        ("python", process.python),
        ("arguments", " ".join(process.argv)),
    ]
    name = f"rank {rank}" if rank else process.id
    about = ", ".join(
        filter(None, [process.ended, process.torch and f"torch {process.torch}", process.device])
    )
    card = Card(
        f"process {process.id}",
        process=process.id,
        facts=facts,
        lists=[
            ("not captured", [f"{fact_words(item.fact)}: {item.reason}" for item in process.missing]),
            ("damaged", [f"{item.kind} at {item.where}: {item.detail}" for item in process.damage]),
        ],
    )
    return Entry("process", name, about or "nothing is known about it", card)


def _missing(item: Missing, owner: str) -> Entry:
    card = Card(f"not captured: {fact_words(item.fact)}", facts=[("why", item.reason), ("in", owner)])
    return Entry("missing", fact_words(item.fact), item.reason, card)


def _damage(item: Damage, owner: str) -> Entry:
    facts = [("at", item.where), ("what", item.detail), ("in", owner)]
    card = Card(
        f"damaged: {item.kind}",
        facts=facts,
        notes=["What follows a damaged place was read; what stood there is lost."],
    )
    return Entry("damage", f"{item.kind} at {item.where}", item.detail, card)


def _rows(report: Report) -> list[Entry]:
    rows = [
        Entry(
            "diagnosis",
            item.text,
            item.slug,
            Card(item.text, process=item.process, facts=[("slug", item.slug)]),
        )
        for item in report.diagnoses
    ]
    for process in report.processes:
        rows += [_damage(item, process.id) for item in process.damage]
    rows += [_missing(item, "all processes") for item in report.missing]
    for process in report.processes:
        rows += [_missing(item, process.id) for item in process.missing]
    for kind, count in sorted(report.unknown_records.items()):
        card = Card(
            f"{count:,} records of a kind this version does not know: {kind}",
            notes=["A newer CompileScope wrote them; it can show what they hold."],
        )
        rows.append(
            Entry("unknown record", kind, f"{count:,} records this version does not understand", card)
        )
    return rows + [_process(process) for process in report.processes]


def _tone(row: Entry) -> Tone:
    return {"damage": "bad", "missing": "warn", "unknown record": "warn"}.get(row.kind, "")  # type: ignore[return-value]


RECORDING: Table[Entry] = Table(
    rows=_rows,
    columns=(
        Column(
            "kind",
            lambda row: row.kind,
            width=15,
            tone=_tone,
            sort=lambda row: row.kind,
            about="a process, a fact that is missing, or a place that could not be read",
        ),
        Column("what", lambda row: one_line(row.what, 300), share=3, sort=lambda row: row.what),
        Column("why", lambda row: one_line(row.why, 300), share=4, sort=lambda row: row.why),
    ),
    card=lambda row: row.card,
    key=lambda row: (row.kind, row.what, row.card.process, row.why),
    empty=lambda _report: "The recording holds no process: the program ended before torch was imported.",
)
