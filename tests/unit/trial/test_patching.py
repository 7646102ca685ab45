"""Diffs as findings carry them, applied again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.advice.diff import Edit, unified
from compilescope.advice.sources import Sources
from compilescope.errors import UsageError
from compilescope.trial.patching import file_of, patched

LINES = st.lists(st.sampled_from(["", "a = 1", "    b", "-c", "+d", "@@ e"]), min_size=2, max_size=12)


@given(LINES, LINES, st.data())
def test_what_advice_writes_can_be_applied(old, inserted, data):
    first = data.draw(st.integers(1, len(old)))
    last = data.draw(st.integers(first - 1, len(old)))
    text = "\n".join(old) + "\n"
    diff = unified(Sources({"f.py": text}), "f.py", [Edit(first, last, inserted)])
    wanted = [*old[: first - 1], *inserted, *old[last:]]
    if diff is not None and old.count(old[first - 1]) == 1:
        assert sorted(patched(text, diff).splitlines()) == sorted(wanted)
    if diff is not None:
        assert file_of(diff) == "f.py"


def test_two_hunks_and_an_edit_above():
    text = "".join(f"line {i}\n" for i in range(20))
    diff = unified(Sources({"f": text}), "f", [Edit(3, 3, ["x", "y"]), Edit(15, 15, [])])
    assert diff is not None
    assert patched(text, diff).splitlines()[2:4] == ["x", "y"]
    moved = patched("new\n" + text, diff).splitlines()
    assert moved[3:5] == ["x", "y"]
    assert "line 14" not in moved


def test_a_diff_of_other_text_is_refused():
    diff = unified(Sources({"f": "a\nb\n"}), "f", [Edit(2, 2, ["c"])])
    assert diff is not None
    with pytest.raises(UsageError, match="does not fit"):
        patched("other\n", diff)
    with pytest.raises(UsageError, match="names no file"):
        file_of("+++ b/x")
