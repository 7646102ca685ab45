"""Whatever text a recording holds, GitHub shows it as it is: read back with a parser of the same Markdown."""

from __future__ import annotations

import builders
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from compilescope.units import visible
from compilescope.views.markdown._escape import block, clip, code, plain, prose, table

GFM = MarkdownIt("gfm-like")
HOLD = "\u200b"
texts = st.text(
    st.sampled_from("ab1 `*_[]()<>|\\#@&$~!-+=.:/\n\t\x1b\u202e{}") | st.characters(codec="utf-8")
)
attacks = pytest.mark.parametrize("text", builders.ATTACKS)


def tokens(markdown: str):
    return [child for token in GFM.parse(markdown) for child in (token.children or [token])]


def shown(markdown: str) -> str:
    return "".join(t.content for t in tokens(markdown) if t.type in ("text", "code_inline", "text_special"))


def kinds(markdown: str) -> set[str]:
    return {token.type for token in tokens(markdown)}


def line(text: str) -> str:
    return " ".join(visible(text, keep="\n").split())


@given(texts)
def test_plain_text_is_only_text(text):
    assume(line(text))
    markdown = plain(text, 10_000)
    assert kinds(f"a {markdown} z") <= {"paragraph_open", "paragraph_close", "text", "text_special"}
    assert shown(f"a {markdown} z").replace(HOLD, "") == f"a {line(text).replace(HOLD, '')} z"


@given(texts)
def test_plain_text_begins_nothing(text):
    assert kinds(plain(text)) <= {"paragraph_open", "paragraph_close", "text", "text_special", "inline"}


@given(texts)
def test_a_code_span_holds_its_text(text):
    markdown = code(text, 10_000)
    if line(text):
        assert kinds(markdown) == {"paragraph_open", "paragraph_close", "code_inline"}
        assert shown(markdown) == line(text)
    else:
        assert markdown == ""


@given(st.lists(texts, min_size=2, max_size=2))
def test_a_table_keeps_its_cells(pair):
    markdown = table(("a", ">b"), [[code(pair[0], cell=True), plain(pair[1])]])
    cells = [t for t in GFM.parse(markdown) if t.type == "td_open"]
    assert len(cells) == 2
    assert "html_inline" not in kinds(markdown)


@given(texts)
def test_a_block_ends_where_it_should(text):
    parsed = GFM.parse(block(text, "diff") + "\n\nafter")
    assert [t.type for t in parsed] == ["fence", "paragraph_open", "inline", "paragraph_close"]
    assert parsed[0].info == "diff"


@given(texts)
def test_prose_has_no_tags_and_no_links(text):
    assert not kinds(f"x {prose(text)}") & {"html_inline", "html_block", "link_open", "image"}


@attacks
def test_attacks_are_text(text):
    for markdown in (plain(text), prose(text), code(text), block(text)):
        assert not kinds(markdown) & {"html_inline", "html_block", "link_open", "image"}


def test_code_in_a_sentence_of_ours():
    assert prose("use `torch.where` instead of `if`") == "use `torch.where` instead of `if`"
    assert prose("an odd ` is a character") == "an odd \\` is a character"


@pytest.mark.parametrize("call", ["@octocat", "#12", "GH-3", "https://a.b/c", "www.a.b", "mailto:a@b.c"])
def test_nobody_is_called_and_nothing_is_linked(call):
    markdown = plain(f"see {call} now")
    assert call not in markdown.replace("\\", "")
    assert "link_open" not in kinds(markdown)


def test_a_long_text_says_that_it_is_cut():
    assert clip("abcdef", 4) == "abc…"
    assert block("\n".join("abc"), most_lines=2).endswith("… and 1 more lines\n```")
