"""Puts values into the words of a rule."""

from __future__ import annotations

import re
from collections.abc import Mapping

_FIELD = re.compile(r"\{(\w+)\}")


def fill(text: str, values: Mapping[str, str]) -> str:
    """``{name}`` becomes its value, once: not str.format, because values are hostile and may hold braces."""
    return _FIELD.sub(lambda match: values.get(match[1], match[0]), text)
