from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.advice.diff import Edit, unified
from compilescope.advice.sources import Sources

TEXT = """import torch


class Net(torch.nn.Module):
    @torch.compile
    def forward(self, x):
        if x.sum() > 0:
            x = x + 1
        return helper(
            x,
        )
"""


def test_a_line_has_its_function_class_and_qualified_name() -> None:
    sources = Sources({"m.py": TEXT})
    function = sources.function_at("m.py", 5)  # the decorator belongs to the function
    assert function is not None
    assert function.name == "forward"
    assert sources.qualified_name("m.py", 8, "forward") == "Net.forward"
    assert sources.qualified_name("m.py", 8, "elsewhere") == "elsewhere"


def test_of_a_compound_statement_only_the_head_counts() -> None:
    sources = Sources({"m.py": TEXT})
    assert isinstance(sources.statement_at("m.py", 7), ast.If)
    assert isinstance(sources.statement_at("m.py", 8), ast.Assign)
    assert isinstance(sources.statement_at("m.py", 10), ast.Return)


@pytest.mark.parametrize(
    "text", ["def f(:\n", "\0", "x = 1\n" * 3 + "  y", "(" * 5000, "'\\d'\nprint 1", "\ud800", "\x0c\x0b"]
)
def test_text_that_is_not_python_answers_none(text: str) -> None:
    sources = Sources({"m.py": text})
    assert sources.function_at("m.py", 1) is None
    assert sources.class_at("m.py", 1) is None
    assert sources.qualified_name("m.py", 1, "f") == "f"
    assert list(sources.calls()) == []


def test_unknown_files_and_lines_answer_none() -> None:
    sources = Sources({"m.py": TEXT})
    assert sources.statement_at("other.py", 3) is None
    assert sources.statement_at("m.py", 9999) is None
    assert sources.statement_at(None, None) is None
    assert sources.line("m.py", 0) is None


@given(st.text(max_size=200), st.integers(-5, 50))
def test_no_text_and_no_line_raises(text: str, line: int) -> None:
    sources = Sources({"m.py": text})
    sources.statement_at("m.py", line)
    sources.qualified_name("m.py", line, "f")
    sources.line("m.py", line)


@given(st.lists(st.tuples(st.integers(-2, 12), st.integers(-2, 12)), max_size=4))
def test_edits_that_overlap_or_lie_outside_are_left_out(spans: list[tuple[int, int]]) -> None:
    text = "".join(f"line {n}\n" for n in range(1, 11))
    result = unified(Sources({"m.py": text}), "m.py", [Edit(a, b, ["new"]) for a, b in spans])
    removed = [row for row in (result or "").splitlines()[2:] if row.startswith("-")]
    assert len(removed) == len(set(removed))


def test_a_diff_of_nothing_is_none() -> None:
    assert unified(Sources({"m.py": "a\n"}), "m.py", [Edit(1, 1, ["a"])]) is None
    assert unified(Sources({}), "m.py", [Edit(1, 1, ["b"])]) is None
