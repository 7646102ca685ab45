"""One guarded thing that differed when torch decided to compile a function again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from compilescope.analysis.code_text import Comment
from compilescope.model import Location

UNKNOWN_NEW = "torch's message names only the old value"


@dataclass(frozen=True, slots=True)
class Change:
    kind: str
    source: str
    old: Any
    new: Any
    holder: str | None = None
    value_type: str | None = None
    at: Location | None = None  # the user line that made the guard, where capture kept it
    comment: Comment | None = None  # the same from torch's text, with a cut path
    root: str | None = None  # the variable it starts from, to tell an argument from a free variable
    detail: str | None = None  # "contiguous -> channels_last"
    new_known: bool = True
    from_tensor: bool = False

    @property
    def subject(self) -> str:
        """The guarded thing itself: ``s`` of ``len(s)``, which torch may name either way."""
        for prefix in ("len(", "keys of ", "members of "):
            if self.source.startswith(prefix):
                return self.source[len(prefix) :].removesuffix(")" if prefix == "len(" else "")
        return self.source

    @property
    def key(self) -> tuple[str, str]:
        return self.source, self.kind


def value_type_of(old: Any, new: Any) -> str | None:
    """int | float | str | bool | none, of the new value where it is known."""
    value = old if new is None and old is not None else new
    for kind in (bool, int, float, str):
        if type(value) is kind:
            return kind.__name__
    return "none" if value is None else None
