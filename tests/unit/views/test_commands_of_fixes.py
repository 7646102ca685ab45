"""A fix that is a command for a shell stands in every view whole and on a line of its own, to be copied."""

from __future__ import annotations

import json
from dataclasses import replace
from html import unescape

import builders
import pytest

from compilescope.advice import Finding
from compilescope.advice.plain import findings_json
from compilescope.analysis.redact import redact
from compilescope.analysis.report import Report
from compilescope.cli._findings import finding_text, findings_text
from compilescope.views.finding_words import MOST_COMMAND, all_findings, finding_words
from compilescope.views.html import render as html
from compilescope.views.markdown.github import render as github
from compilescope.views.markdown.report import render as markdown
from compilescope.views.sarif import render as sarif
from compilescope.views.tui._card import markdown as copied
from compilescope.views.tui.tables.findings import FINDINGS

# Two spaces, quotes and characters that Markdown, HTML and GitHub's runner give a meaning.
COMMAND = """export X="$(python -c 'print("a  b", 1 < 2, "*_`")')" two-words 100%  # """ + "x" * 150


def finding() -> Finding:
    words = {"summary": "it is slow " * 20, "fix": "name it", "fix_kind": "same_assembler", "identity": "i"}
    return Finding("a_rule", "low", "a.py", 1, "f", command=COMMAND, **words)


def report() -> Report:
    return replace(builders.rich(), findings=findings_json([finding()]))


@pytest.mark.parametrize("width", [60, 80, 200])
def test_in_a_terminal_it_is_not_wrapped(width: int) -> None:
    for text in (findings_text([finding()], width=width), finding_text(1, finding(), width=width)):
        lines = text.splitlines()
        (line,) = [line for line in lines if COMMAND in line]
        assert line.strip() == COMMAND
        assert max(len(other) for other in lines if other != line) <= width


def test_in_markdown_and_in_what_the_explorer_copies() -> None:
    assert f"```sh\n{COMMAND}\n```" in markdown(report())
    (row,) = FINDINGS.rows(report())
    assert f"the command:\n\n- `` {COMMAND} ``\n" in copied(FINDINGS.card(row))


def test_on_the_page() -> None:
    page = html(report())
    shown = page.partition('<pre class="code command">')[2].partition("</pre>")[0]
    assert unescape(shown) == COMMAND
    assert "<" not in shown


def test_beside_the_code() -> None:
    (line,) = github(report()).splitlines()
    assert line.replace("%25", "%").endswith(f"%0AFix: name it%0A{COMMAND}")
    (result,) = json.loads(sarif(report(), version="1"))["runs"][0]["results"]
    assert result["message"]["text"].endswith(f"\nFix: name it\n{COMMAND}")


@pytest.mark.parametrize("command", ["", "a\nb", "a\x1b[2J", "a \u202e b", "x" * (MOST_COMMAND + 1)])
def test_what_no_view_could_show_whole_is_not_shown(command: str) -> None:
    assert finding_words({"command": command}).command is None


def test_a_redacted_report_has_none() -> None:
    (words,) = all_findings(redact(report()))
    assert (words.command, words.fix) == (None, "name it")
