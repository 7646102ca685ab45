from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compilescope.views.tui._card import Card, markdown


def test_a_card_as_markdown() -> None:
    card = Card(
        "f() breaks",
        "train.py",
        14,
        "f",
        code="  print(x)\n",
        facts=[("runs", "9"), ("hint", None)],
        notes=["hot", None],
        lists=[("called through", ["main.py:3 main"]), ("none", [])],
        compile_ids=[f"0/{n}" for n in range(8)],
    )
    assert markdown(card).splitlines() == [
        "**f() breaks**",
        "",
        "```python",
        "print(x)",
        "```",
        "",
        "- where: `train.py:14 in f`",
        "- runs: `9`",
        "- compiles: `[0/0] [0/1] [0/2] [0/3] [0/4] [0/5] and 2 more`",
        "- note: hot",
        "",
        "called through:",
        "",
        "- `main.py:3 main`",
    ]


def test_markup_in_a_title_is_escaped_and_backticks_get_a_longer_fence() -> None:
    card = Card("<img src=x> **b** [a](b)", file="a`b``c.py", code="x = '```'")
    text = markdown(card)
    assert r"\<img src=x\> \*\*b\*\* \[a\](b)" in text
    assert "````python\nx = '```'\n````" in text
    assert "``` a`b``c.py ```" in text


@given(st.text(), st.text(), st.text())
def test_recorded_text_never_starts_a_line_of_its_own(title, code, fact) -> None:
    text = markdown(Card(title, code=code, facts=[("fact", fact)], lists=[("items", [fact])]))
    for line in text.splitlines():
        assert line == "" or line.startswith(("**", "```", "- ", "items:")) or line in text.split("```")[1]


def test_a_list_of_thousands_is_capped_and_says_so() -> None:
    ((_, items),) = Card("t", lists=[("items", [str(n) for n in range(1000)])]).groups()
    assert len(items) == 61
    assert items[-1] == "and 940 more"
