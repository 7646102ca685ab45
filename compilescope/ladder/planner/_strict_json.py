"""JSON files that a person or another tool wrote, read strictly: what is not understood is an error.

Raised errors name the file, the place in it and what was expected there; quoted values are cut short,
because the file may be hostile.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NoReturn

from compilescope.errors import UsageError

LARGEST_FILE_BYTES = 512_000_000
_QUOTED = 60


class Source:
    """One file and the error to raise for it, so that every message says where it looked."""

    def __init__(self, path: Path, error: type[UsageError]) -> None:
        self.path = path
        self.error = error

    def fail(self, message: str, hint: str | None = None) -> NoReturn:
        raise self.error(f"{self.path}: {message}", hint=hint)

    def read(self) -> Any:
        try:
            size_bytes = self.path.stat().st_size
            if size_bytes > LARGEST_FILE_BYTES:
                self.fail(f"{size_bytes:,} bytes are more than the {LARGEST_FILE_BYTES:,} read at most")
            text = self.path.read_text(encoding="utf-8")
        except UnicodeDecodeError as problem:
            self.fail(f"not UTF-8 at byte {problem.start}")
        except OSError as problem:
            self.fail(problem.strerror or str(problem))
        try:
            return json.loads(text, object_pairs_hook=self._once, parse_constant=self._no_constant)
        except UsageError:  # one of ours is a ValueError too
            raise
        except json.JSONDecodeError as problem:
            self.fail(f"not JSON: {problem.msg} at line {problem.lineno}, column {problem.colno}")
        except RecursionError:
            self.fail("nested too deeply")
        except ValueError as problem:  # an integer of thousands of digits
            self.fail(f"not JSON: {shown(str(problem))}")

    def known(self, where: str, value: Any, keys: Collection[str]) -> Mapping[str, Any]:
        """``value`` as an object that has no key beyond ``keys``."""
        if not isinstance(value, dict):
            self.fail(f"{where} must be an object, not {shown(value)}")
        unknown = sorted(set(value) - set(keys))
        if unknown:
            self.fail(f"{where} has an unknown key {shown(unknown[0])}", f"known: {', '.join(sorted(keys))}")
        return value

    def text(self, where: str, value: Any) -> str:
        if not isinstance(value, str):
            self.fail(f"{where} must be text, not {shown(value)}")
        return value

    def number(self, where: str, value: Any, *, positive: bool = False) -> float:
        """A finite number that is not negative; above zero if ``positive``."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fail(f"{where} must be a number, not {shown(value)}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number) or number < 0 or (positive and number == 0):
            self.fail(f"{where} must be {'above zero' if positive else 'zero or more'}, not {shown(value)}")
        return number

    def _once(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            self.fail(f"key {shown(twice)} is there more than once")
        return result

    def _no_constant(self, name: str) -> NoReturn:
        self.fail(f"{name} is not a number JSON knows")


def shown(value: Any) -> str:
    """``value`` for a message: ASCII, one line, at most 60 characters."""
    text = ascii(value)
    return text if len(text) <= _QUOTED else text[: _QUOTED - 3] + "..."
