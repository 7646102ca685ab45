from __future__ import annotations

import ast

import pytest
from report_rows import graph_break

from compilescope.advice.diff import Edit, unified
from compilescope.advice.rewrites import edit_of
from compilescope.advice.sources import Sources


def edit(text: str, cause: str, line: int) -> Edit | None:
    return edit_of(Sources({"train.py": text}), graph_break(cause, line=line))


def test_a_print_over_several_lines_is_indented_as_a_whole() -> None:
    made = edit("def f(x):\n    print(\n        x,\n    )\n    return x\n", "print_in_compiled_region", 2)
    assert made == Edit(
        2, 4, ["    if not torch.compiler.is_compiling():", "        print(", "            x,", "        )"]
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("if x.sum() > 0:\n    x = x + 1\n", "x = torch.where(x.sum() > 0, x + 1, x)"),
        ("if x.any():\n    y = a\nelse:\n    y = b\n", "y = torch.where(x.any(), a, b)"),
        ("if x.any():\n    x *= 2\n", "x = torch.where(x.any(), x * 2, x)"),
    ],
)
def test_a_branch_on_a_tensor_becomes_where(text: str, line: str) -> None:
    made = edit(text, "data_dependent_branch", 1)
    assert made is not None
    assert list(made.lines) == [line]


@pytest.mark.parametrize(
    "text",
    [
        "if x.any():\n    return x\n",
        "if x.any():\n    x = 1\n    y = 2\n",
        "if x.any():\n    x = a\nelse:\n    y = b\n",
        "if x.any():\n    x.y = a\n",
        "if x.any():\n    x = a\nelif x.all():\n    x = b\n",
        "while x.any():\n    x = x / 2\n",
    ],
)
def test_larger_branches_are_left_to_a_person(text: str) -> None:
    assert (
        edit(f"def f(x):\n    {text.replace(chr(10), chr(10) + '    ')}", "data_dependent_branch", 2) is None
    )


def test_a_value_stays_a_tensor() -> None:
    made = edit("def f(x):\n    v = x.max().item()  # peak\n", "scalar_read", 2)
    assert made is not None
    assert list(made.lines) == ["    v = x.max()  # peak"]


@pytest.mark.parametrize(
    "text", ["v = float(x.max())\n", "x = 1; v = x.item()\n", "v = é.item()\n", "v = x.item(0) + 1\n"]
)
def test_other_reads_are_left_alone(text: str) -> None:
    assert edit(text, "scalar_read", 1) is None


def test_a_written_diff_leaves_valid_python() -> None:
    text = "def f(x):\n    if x.any():\n        x = x + 1\n    print(x)\n    return x\n"
    sources = Sources({"train.py": text})
    sites = [graph_break("data_dependent_branch", line=2), graph_break(line=4)]
    diff = unified(sources, "train.py", [e for s in sites if (e := edit_of(sources, s))])
    assert diff is not None
    kept = [row[1:] for row in diff.splitlines()[3:] if row.startswith(("+", " "))]
    ast.parse("\n".join(kept))


@pytest.mark.parametrize("use", ["y[:, :v]", "sum(range(v))", "y if v else x", "f(v)", "[v]"])
def test_a_number_that_python_needs_is_not_turned_into_a_tensor(use: str) -> None:
    assert edit(f"def f(x, y):\n    v = x.max().item()\n    return {use}\n", "scalar_read", 2) is None


def test_a_number_that_is_only_computed_with_is() -> None:
    assert (
        edit("def f(x):\n    v = x.max().item()\n    x /= v\n    return -v + x\n", "scalar_read", 2)
        is not None
    )
