from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.views.tui._card import Card
from compilescope.views.tui._grid import column_widths
from compilescope.views.tui._rows import Rows
from compilescope.views.tui._table import Column, Table


@dataclass(eq=False)
class Item:
    name: str
    size: int
    below: list[Item] = field(default_factory=list)


TABLE: Table[Item] = Table(
    rows=lambda _report: [],
    columns=(
        Column("name", lambda item: item.name, sort=lambda item: item.name),
        Column("note", lambda _item: "same"),
        Column("size", lambda item: str(item.size), width=6, sort=lambda item: item.size),
    ),
    card=lambda item: Card(item.name),
    key=lambda item: item.name,
    empty=lambda _report: "none",
    children=lambda item: item.below,
)


@pytest.fixture
def rows() -> Rows:
    rows = Rows(TABLE)
    rows.load([Item("b", 1), Item("a", 3, [Item("a1", 9, [Item("a1x", 9)]), Item("a2", 8)]), Item("c", 2)])
    return rows


def names(rows: Rows) -> str:
    return " ".join(item.name for item in rows.seen)


def test_sorting_goes_through_the_columns_that_can_be_sorted(rows: Rows) -> None:
    seen = [names(rows)]
    for _ in range(3):
        rows.sort_next()
        seen.append(names(rows))
    assert seen == ["b a c", "c b a", "a c b", "b a c"]


def test_sorting_by_a_column_again_turns_it_round(rows: Rows) -> None:
    rows.sort_by(2)
    assert names(rows) == "a c b"
    rows.sort_by(2)
    assert names(rows) == "b c a"
    rows.sort_by(None)
    assert names(rows) == "b a c"


def test_a_filter_looks_into_every_cell_in_any_case(rows: Rows) -> None:
    rows.keep("A")
    assert names(rows) == "b a c"  # "same"
    rows.keep("3")
    assert names(rows) == "a"
    assert rows.total == 3
    rows.keep("")
    assert names(rows) == "b a c"


def test_what_is_open_stays_open_through_sorting_filtering_and_new_rows(rows: Rows) -> None:
    rows.set_open(rows.seen[1], True)
    assert names(rows) == "b a a1 a2 c"
    rows.set_open(rows.seen[2], True)
    assert names(rows) == "b a a1 a1x a2 c"
    rows.sort_by(2)
    assert names(rows) == "a a1 a1x a2 c b"
    rows.keep("3")
    assert names(rows) == "a a1 a1x a2"
    rows.load([Item("a", 3, [Item("new", 1)])])
    assert names(rows) == "a new"
    rows.set_open(rows.seen[0], False)
    assert names(rows) == "a"


def test_the_parent_of_a_row_is_found(rows: Rows) -> None:
    rows.set_open(rows.seen[1], True)
    assert rows.parent_index(3) == 1
    assert rows.parent_index(4) is None


def test_search_goes_on_round_the_end_in_both_directions(rows: Rows) -> None:
    assert rows.find("C", 0, 1) == 2
    assert rows.find("b", 1, 1) == 0
    assert rows.find("b", 1, -1) == 0
    assert rows.find("c", 1, -1) == 2
    assert rows.find("nowhere", 0, 1) is None


@given(st.lists(st.text(max_size=3), max_size=12), st.text(max_size=2))
def test_a_filter_keeps_exactly_the_rows_that_a_search_finds(texts, wanted) -> None:
    rows = Rows(TABLE)
    items = [Item(text, number) for number, text in enumerate(texts)]
    rows.load(items)
    found = set()
    for start in range(len(items)):
        index = rows.find(wanted, start, 1)
        found |= {index} if index is not None else set()
    rows.keep(wanted)
    assert {id(item) for item in rows.seen} == {id(items[index]) for index in found}


@given(st.integers(1, 300))
def test_columns_never_overflow_and_use_all_there_is(total: int) -> None:
    columns = (
        Column("a", str, width=9),
        Column("b", str, share=3),
        Column("c", str, share=1, above=60),
        Column("d", str, width=20, above=100),
    )
    placed = column_widths(columns, total)
    if total >= 12:
        assert sum(width + 1 for width, _, _ in placed) == total
    assert [number for _, _, number in placed] == [
        0,
        1,
        *([2] if total > 60 else []),
        *([3] if total > 100 else []),
    ]


def test_texts_are_made_a_few_at_a_time_and_found_in_all_the_same() -> None:
    made: list[int] = []

    def cell(row: int) -> str:
        made.append(row)
        return f"row {row}"

    table: Table[int] = Table(
        rows=lambda _: [], columns=(Column("n", cell),), card=lambda _: Card(""), key=lambda row: row,
        empty=lambda _: "",
    )  # fmt: skip
    rows = Rows(table)
    rows.load(list(range(100)))
    assert not rows.warm(0.0)
    assert made == [0]
    assert rows.warm(60.0)
    assert made == list(range(100))
    assert rows.find("row 57", 0, 1) == 57
    assert made == list(range(100))
    rows.load([1])
    assert rows.warm(0.0) or rows.warm(0.0)
