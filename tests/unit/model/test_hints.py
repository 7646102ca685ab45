"""Hints of symbols: torch writes them as text, and what is no finite number is none."""

from __future__ import annotations

from typing import Any

import pytest
from model_records import Recorder


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("16", 16),
        (16, 16),
        ("0.5", 0.5),
        ("9" * 400, int("9" * 400)),
        ("nan", None),
        ("inf", None),
        ("-Infinity", None),
        ("1e999", None),
        ("u0 + 1", None),
        (True, None),
        ([16], None),
        (None, None),
    ],
)
def test_a_hint_is_a_finite_number_or_unknown(recorder: Recorder, written: Any, read: Any) -> None:
    recorder.compiled(0).add("create_symbol", {"symbol": "s0", "val": written}, c=(0, 0, 0, 0))
    (symbol,) = recorder.process().detail.symbols
    assert symbol.hint == read
