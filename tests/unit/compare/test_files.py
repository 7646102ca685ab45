from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.compare.files import common_name, paired_files


def pairs(base, head, scripts=("", "")):
    """{BASE's file: HEAD's file} of those that are the same file."""
    old, new = paired_files(base, head, scripts)
    back = {common: file for file, common in new.items()}
    return {file: back[common] for file, common in old.items() if common in back}


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        (["a.py"], ["a.py"], {"a.py": "a.py"}),
        (["/old/pkg/a.py"], ["/new/pkg/a.py"], {"/old/pkg/a.py": "/new/pkg/a.py"}),
        # The longest common end decides where names repeat.
        (
            ["/o/x/__init__.py", "/o/y/__init__.py"],
            ["/n/y/__init__.py", "/n/x/__init__.py"],
            {"/o/x/__init__.py": "/n/x/__init__.py", "/o/y/__init__.py": "/n/y/__init__.py"},
        ),
        # Nothing says which of two it is.
        (["/o/a.py"], ["/n/1/a.py", "/n/2/a.py"], {}),
        (
            ["/v1/lib/python3.11/site-packages/timm/x.py"],
            ["/v2/lib/python3.12/site-packages/timm/x.py"],
            {"/v1/lib/python3.11/site-packages/timm/x.py": "/v2/lib/python3.12/site-packages/timm/x.py"},
        ),
        (["a.py"], ["b.py"], {}),
    ],
)
def test_which_file_is_which(base, head, expected):
    assert pairs(base, head) == expected


def test_the_program_itself_may_have_another_name():
    assert pairs(["train.py", "m.py"], ["train_v2.py", "m.py"], ("train.py", "train_v2.py")) == {
        "train.py": "train_v2.py",
        "m.py": "m.py",
    }


def test_a_script_that_both_runs_have_is_not_renamed():
    assert pairs(["a.py", "b.py"], ["a.py", "b.py"], ("a.py", "b.py")) == {"a.py": "a.py", "b.py": "b.py"}


def test_an_unknown_file_has_a_name_too():
    assert common_name({}, None) == "?"
    assert common_name({}, "never/seen.py") == "never/seen.py"


names = st.lists(st.sampled_from(["a", "b", "c.py", "d.py"]), min_size=1, max_size=4).map("/".join)


@given(st.sets(names), st.sets(names))
def test_both_directions_give_the_same_pairs(base, head):
    forth, back = pairs(base, head), pairs(head, base)
    assert forth == {old: new for new, old in back.items()}
    assert len(set(forth.values())) == len(forth)
    assert all(forth[file] == file for file in base & head)
