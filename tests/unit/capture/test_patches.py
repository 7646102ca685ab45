"""Patches come off where they are still outermost, and stay as a pass-through where they are not."""

from __future__ import annotations

import inspect
import types
from typing import Any

import pytest

from compilescope.capture._patches import HookMissingError, patch


class _Owner:
    def method(self, n: int, *, by: int = 1) -> int:
        """Adds."""
        return n + by


class _Child(_Owner):
    pass


def _passing(original: Any) -> Any:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return original(*args, **kwargs)

    return wrapper


def test_a_patch_passes_everything_through_and_comes_off() -> None:
    original = _Owner.__dict__["method"]
    made = patch(_Owner, "method", _passing)
    assert _Owner.__dict__["method"] is not original
    assert _Owner().method(2, by=5) == 7
    made.remove()
    assert _Owner.__dict__["method"] is original


def test_the_wrapper_looks_like_what_it_wraps() -> None:
    original = _Owner.__dict__["method"]
    made = patch(_Owner, "method", _passing)
    wrapper: Any = _Owner.method
    made.remove()
    assert (wrapper.__name__, wrapper.__doc__) == ("method", "Adds.")
    assert inspect.signature(wrapper) == inspect.signature(original)
    assert wrapper.__code__.co_filename == original.__code__.co_filename
    assert wrapper.__code__.co_firstlineno == original.__code__.co_firstlineno


def test_a_later_patch_of_somebody_else_is_left_alone() -> None:
    original = _Owner.__dict__["method"]
    ours = patch(_Owner, "method", _passing)
    theirs = _passing(_Owner.__dict__["method"])
    setattr(_Owner, "method", theirs)  # noqa: B010
    ours.remove()
    assert _Owner.__dict__["method"] is theirs
    assert _Owner().method(1) == 2
    setattr(_Owner, "method", original)  # noqa: B010


def test_removal_in_any_order_leaves_something_that_works() -> None:
    original = _Owner.__dict__["method"]
    first, second = patch(_Owner, "method", _passing), patch(_Owner, "method", _passing)
    first.remove()
    assert _Owner().method(1) == 2
    second.remove()
    assert _Owner().method(1) == 2
    setattr(_Owner, "method", original)  # noqa: B010


@pytest.mark.parametrize("name", ["missing", "__doc__", "method"])
def test_what_the_owner_itself_does_not_have_is_missing(name: str) -> None:
    with pytest.raises(HookMissingError, match=name):
        patch(_Child, name, _passing)
    assert "method" not in _Child.__dict__


def test_a_module_can_be_an_owner() -> None:
    module = types.ModuleType("a_module")
    module.function = len  # type: ignore[attr-defined]
    made = patch(module, "function", _passing)
    assert module.function("abc") == 3
    made.remove()
    assert module.function is len
    with pytest.raises(HookMissingError, match=r"a_module\.absent"):
        patch(module, "absent", _passing)
