"""File names, whose code a file is, and what stored source says about functions."""

from __future__ import annotations

import pytest

from compilescope.analysis.index import original_name
from compilescope.analysis.paths import Paths, match_suffix
from compilescope.analysis.scopes import Scopes
from compilescope.model import Location

SITE = "/venv/lib/python3.11/site-packages/"
SOURCE = """import torch
def outer(a):
    @torch.compile
    def f(x, *rest, k=1, **more):
        for i in range(3):
            x = x + i
        return x
    return f
g = lambda y: y
"""


@pytest.mark.parametrize(
    ("file", "shown", "torch", "library"),
    [
        ("/home/user/pkg/train.py", "pkg/train.py", False, False),
        ("/elsewhere/train.py", "/elsewhere/train.py", False, False),
        (SITE + "torch/optim/adam.py", "torch/optim/adam.py", True, True),
        (SITE + "transformers/modeling.py", SITE + "transformers/modeling.py", False, True),
        ("/usr/lib/python3.11/contextlib.py", "/usr/lib/python3.11/contextlib.py", False, True),
        ("<eval_with_key>.3", "<eval_with_key>.3", True, True),
        ("<string>", "<string>", False, False),
    ],
)
def test_files(file: str, shown: str, torch: bool, library: bool) -> None:
    paths = Paths("/home/user")
    assert (paths.show(file), paths.is_torch(file), paths.is_library(file)) == (shown, torch, library)


def test_a_project_below_a_folder_named_like_the_standard_librarys_is_the_users() -> None:
    file = "/home/user/lib/python3.11/train.py"
    assert Paths("/home").is_library(file) is False
    assert Paths("/srv").is_library(file) is True


def test_a_path_cut_on_the_left_is_found_by_its_end_if_only_one_fits() -> None:
    known = ["/home/user/a/train.py", "/home/user/b/train.py"]
    assert match_suffix("ser/a/train.py", known) == known[0]
    assert match_suffix("train.py", known) is None
    assert match_suffix("other.py", known) is None


@pytest.mark.parametrize(
    ("name", "original"),
    [
        ("forward", ("forward", None)),
        ("torch_dynamo_resume_in_forward_at_14", ("forward", 14)),
        ("torch_dynamo_resume_in_f_at_1_at_22", ("f_at_1", 22)),
        ("torch_dynamo_resume_in_torch_dynamo_resume_in_f_at_3_at_9", ("f", 9)),
    ],
)
def test_resume_functions_have_the_name_of_the_function_they_continue(
    name: str, original: tuple[str, int | None]
) -> None:
    assert original_name(name) == original


def test_functions_are_found_by_the_line_of_their_first_decorator() -> None:
    scopes = Scopes({"a.py": SOURCE})
    assert scopes.parameters(Location("a.py", 3, "f")) == {"x", "rest", "k", "more"}
    assert scopes.variadic(Location("a.py", 3, "f")) == {"rest", "more"}
    assert scopes.parameters(Location("a.py", 9, "<lambda>")) == {"y"}
    assert scopes.parameters(Location("a.py", 4, "f")) is None


def test_lines_belong_to_the_innermost_function() -> None:
    scopes = Scopes({"a.py": SOURCE})
    assert [scopes.start_of("a.py", line) for line in (1, 6, 8)] == [None, 3, 2]


def test_a_line_whose_source_is_not_there_may_be_in_a_loop() -> None:
    scopes = Scopes({"a.py": SOURCE, "bad.py": "def f(:"})
    assert scopes.in_loop("a.py", 6)
    assert not scopes.in_loop("a.py", 7)
    assert scopes.in_loop("b.py", 1)
    assert scopes.in_loop("bad.py", 1)
