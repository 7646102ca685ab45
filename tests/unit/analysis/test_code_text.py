"""Guard code as torch writes it: condition, expected value, comment."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.analysis.code_text import Comment, condition_of, parse

COMMENT = "  # x = x + self.pos[t]  # ork/cases/12_kv_cache_growth.py:14 in forward"


@pytest.mark.parametrize(
    ("code", "operator", "source", "expected"),
    [
        ("L['t'] == 0       " + COMMENT, "==", "L['t']", 0),
        ("n == -3" + COMMENT, "==", "n", -3),
        ("s == 'it\\'s a \"quoted\" thing # hash'" + COMMENT, "==", "s", 'it\'s a "quoted" thing # hash'),
        ("L['cache'] is None" + COMMENT, "is", "L['cache']", None),
        ("not L['history']" + COMMENT, "len", "L['history']", 0),
        ("len(L['history']) == 3" + COMMENT, "len", "L['history']", 3),
        ("len(stats) != 1", "len", "stats", 1),
        ("d == torch.float64" + COMMENT, "==", "d", "float64"),
        ("___check_obj_id(f.__code__, 1404), type=<class 'code'>" + COMMENT, "id", "f.__code__", None),
        ("___check_type_id(L['t'], 140), type=<class 'list'>" + COMMENT, "type", "L['t']", None),
        ("not ___dict_contains('forward', L['m'].__dict__)" + COMMENT, "lacks", "L['m'].__dict__", "forward"),
        ("set.__contains__(L['s'], 'a')" + COMMENT, "contains", "L['s']", "a"),
        ("(type(f) is float and __math_isnan(f))" + COMMENT, "==", "f", "nan"),
        ("L['x'].size()[0] == 8" + COMMENT, "other", None, None),
        ("2 <= L['x'].size()[0] <= 10" + COMMENT, "other", None, None),
    ],
)
def test_conditions(code: str, operator: str, source: str | None, expected: Any) -> None:
    found = parse(code)
    assert (found.operator, found.source, found.expected) == (operator, source, expected)


def test_the_comment_names_a_cut_file_a_line_and_a_function() -> None:
    assert parse("n == 2" + COMMENT).comment == Comment("ork/cases/12_kv_cache_growth.py", 14, "forward")


def test_a_hint_names_the_free_variable() -> None:
    code = (
        "p.__closure__[0].cell_contents == 'a'  # return f  # a/b.py:6 in <lambda> (HINT: guard on \"label\")"
    )
    found = parse(code)
    assert found.free_name == "label"
    assert found.comment is not None
    assert found.comment.function == "<lambda>"


def test_the_user_stack_that_follows_is_not_part_of_the_comment() -> None:
    code = (
        'n == 2  # f(n)  # a/b.py:6 in f\nUser stack trace:\n  File "/x.py", line 9, in g\n    # c.py:1 in h'
    )
    assert parse(code).comment == Comment("a/b.py", 6, "f")


def test_type_names_lose_their_module() -> None:
    code = "___check_type_id(c, 9), type=<class '__main__.Cfg'>  # c.lr  # a.py:1 in f (HINT: type Cfg)"
    assert parse(code).type_name == "Cfg"


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60))
def test_a_string_value_survives_whatever_it_holds(value: str) -> None:
    found = parse(f"L['s'] == {value!r}{COMMENT}")
    assert found.expected == value
    assert found.comment == Comment("ork/cases/12_kv_cache_growth.py", 14, "forward")


@given(st.text(max_size=200))
def test_any_text_is_read(code: str) -> None:
    parse(code)
    assert len(condition_of(code)) <= len(code)
