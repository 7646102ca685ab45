"""Sizes as torch writes them, read back without torch."""

from __future__ import annotations

import pytest

from compilescope.analysis.size_expr import size_of, symbols_of

VALUES = {"s0": 10, "s1": 3, "flag": True, "text": "9"}


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (7, 7),
        ("7", 7),
        ("s0", 10),
        ("s0 - 1", 9),
        ("2*s0 + s1", 23),
        ("((s0//2))", 5),
        ("-s1 + s0", 7),
        ("Mod(s0, 8)", 2),
        ("PythonMod(s0, 4)", 2),
        ("FloorDiv(s0 + 1, s1)", 3),
        ("Max(s0, s1)", 10),
        ("Min(s0, 4)", 4),
    ],
)
def test_what_torch_writes(size, expected):
    assert size_of(size, VALUES) == expected


@pytest.mark.parametrize(
    "size",
    [
        *("s9", "s9 + 1", "flag", "text", "s0 +", "", "s0//(s1 - 3)", "s0**99", "s0 if s1 else s0", "1.5"),
        *(
            "__import__('os')",
            "s0.bit_length()",
            "Max(s0)",
            "Max(*[1, 2])",
            "[s0]",
            "s0 < s1",
            "True",
            "0if s0 else s1",
        ),
        *(
            "(" * 150,
            "1" * 150,
            "-" * 190 + "1",
            "9" * 30 + "*" + "9" * 30,
            "s0\n+1;s1",
            None,
            True,
            2.0,
            ["s0"],
        ),
    ],
)
def test_nothing_else_is_evaluated(size):
    assert size_of(size, VALUES) in (None, 1)  # 190 signs make a 1


def test_symbols_are_named_without_functions():
    assert symbols_of("Mod(s0 + 1, s1)") == {"s0", "s1"}
    assert symbols_of(4) == symbols_of("(") == symbols_of(None) == frozenset()
