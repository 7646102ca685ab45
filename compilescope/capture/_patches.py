"""Putting a wrapper around one attribute of torch, and taking it off again.

Others patch the same names (vLLM, unsloth, debuggers), so removal restores the original only where our
wrapper is still outermost; elsewhere the wrapper stays as a pass-through, because its session is closed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Wrapper = Callable[..., Any]


class HookMissingError(Exception):
    """This torch lacks what a hook needs. The message says what, and ends up in the recording."""


@dataclass(frozen=True, slots=True)
class Patch:
    owner: Any
    name: str
    original: Any
    wrapper: Any

    def remove(self) -> None:
        if current_attribute(self.owner, self.name) is self.wrapper:
            setattr(self.owner, self.name, self.original)


def current_attribute(owner: Any, name: str) -> Any:
    """The raw attribute, so that a staticmethod of a class is put back as a staticmethod."""
    if isinstance(owner, type):
        return owner.__dict__.get(name)
    return getattr(owner, name, None)


def patch(owner: Any, name: str, make: Callable[[Wrapper], Wrapper]) -> Patch:
    """Replace ``owner.name`` by ``make(original)``. Raises HookMissingError if it is not a callable."""
    original = current_attribute(owner, name)
    if not callable(original):
        where = getattr(owner, "__qualname__", getattr(owner, "__name__", repr(owner)))
        raise HookMissingError(f"{where}.{name} is not there")
    wrapper = make(original)
    _sit_in_the_same_file(wrapper, original)
    functools.update_wrapper(wrapper, original)
    setattr(owner, name, wrapper)
    return Patch(owner, name, original, wrapper)


def _sit_in_the_same_file(wrapper: Any, original: Any) -> None:
    """Dynamo decides by file name: which frames to trace, and which frame called the one it converts.

    A wrapper that named our file would be traced into, and would hide the caller that
    ``torch.compiler.disable(recursive=False)`` is recognized by.
    """
    code = getattr(original, "__code__", None)
    if code is not None:
        ours = wrapper.__code__
        wrapper.__code__ = ours.replace(
            co_filename=code.co_filename,
            co_firstlineno=code.co_firstlineno,
            co_linetable=_all_on_the_first_line(len(ours.co_code) // 2),
        )


def _all_on_the_first_line(code_units: int) -> bytes:
    """A location table that puts every instruction on the ``def`` line, which a traceback then shows.

    Format: CPython's Objects/locations.md, entry kind 13 (line delta, no columns), at most 8 units each.
    """
    entries = b""
    while code_units > 0:
        units = min(code_units, 8)
        entries += bytes([0x80 | 13 << 3 | (units - 1), 0])
        code_units -= units
    return entries
