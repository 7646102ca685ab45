"""A table as data. To add one: write its columns and its card, and name it in ``_pages``."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

if TYPE_CHECKING:
    from compilescope.analysis.report import Report
    from compilescope.views.tui._card import Card

Row = TypeVar("Row")
Tone = Literal["", "warn", "bad", "faint"]


@dataclass(frozen=True)
class Column(Generic[Row]):
    """``width`` 0: a ``share`` of what the fixed ones leave. ``above``: only in a grid wider than that."""

    name: str
    cell: Callable[[Row], str]
    width: int = 0
    share: int = 1
    above: int = 0
    right: bool = False
    cut: Literal["left", "right"] = "right"
    sort: Callable[[Row], Any] | None = None  # the larger the worse: sorting starts with the largest
    tone: Callable[[Row], Tone] | None = None
    about: str = ""


@dataclass(frozen=True)
class Table(Generic[Row]):
    """``key`` finds the same row again in a newer report; ``empty`` says why there is nothing to show."""

    rows: Callable[[Report], Sequence[Row]]
    columns: tuple[Column[Row], ...]
    card: Callable[[Row], Card]
    key: Callable[[Row], Hashable]
    empty: Callable[[Report], str]
    children: Callable[[Row], Sequence[Row]] | None = None  # makes it a tree, opened row by row


def known_first(value: float | None) -> tuple[bool, float]:
    """Sort key in which unknown comes after everything known."""
    return (value is not None, value or 0)
