from __future__ import annotations

import re
from dataclasses import replace

import builders
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.units import visible
from compilescope.views.markdown.github import annotation, commands, render

COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")


def parsed(line: str) -> tuple[str, dict[str, str], str]:
    """As GitHub's runner reads it."""
    level, properties, message = COMMAND.fullmatch(line).groups()
    pairs = (pair.partition("=") for pair in properties.split(","))
    return level, {name: _decoded(value) for name, _, value in pairs}, _decoded(message)


def _decoded(text: str) -> str:
    for code, char in (("%3A", ":"), ("%2C", ","), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, char)
    return text


@given(st.text(), st.text(min_size=1), st.text(min_size=1))
def test_text_survives_and_starts_no_other_command(message, file, title):
    line = annotation("warning", message, file, 12, title)
    assert "\n" not in line
    assert "\r" not in line
    level, properties, shown = parsed(line)
    assert level == "warning"
    assert shown.endswith(visible(message, keep="\n"))
    assert set(properties) <= {"file", "line", "title"}
    assert properties["title"] == visible(" ".join(title.split()))


@pytest.mark.parametrize("file", ["/abs/a.py", "<ipython-input-1>", "../up.py", "a/../../b.py", "~/x.py"])
def test_a_file_outside_of_the_repository_is_named_in_the_text(file):
    _, properties, message = parsed(annotation("error", "broken", file, 3))
    assert "file" not in properties
    assert message == f"{file}:3: broken"


def test_levels_follow_severity():
    lines = [parsed(line) for line in render(builders.rich()).splitlines()]
    assert [level for level, *_ in lines] == sorted(
        (level for level, *_ in lines), key=["error", "warning", "notice"].index
    )
    assert lines[0][1] == {"file": "24_history_grows.py", "line": "8", "title": "container_growth"}
    assert "\nFix: " in lines[0][2]


def test_ten_of_a_level_and_the_last_one_counts_the_rest():
    lines = render(builders.huge()).splitlines()
    assert len(lines) == 10
    assert parsed(lines[-1])[2] == "and 2991 more findings: see the report"
    ten = replace(builders.huge(), findings=builders.huge().findings[:10])
    assert "more findings" not in render(ten)


@pytest.mark.parametrize("build", builders.ALL)
def test_every_line_is_a_command(build):
    assert all(COMMAND.fullmatch(line) for line in render(build()).splitlines())


def test_commands_of_other_sources():
    rows = [("warning", "b", None, None, None), ("error", "a", "x.py", None, None)]
    assert commands(rows) == "::error file=x.py,title=CompileScope::a\n::warning title=CompileScope::b\n"
