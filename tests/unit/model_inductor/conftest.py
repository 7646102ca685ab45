"""Real texts from the folder ``data``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

_DATA = Path(__file__).parent / "data"


@pytest.fixture
def real() -> Callable[[str], str]:
    """The text recorded under this name, see data/README.md."""

    def read(name: str) -> str:
        path = _DATA / (name if "." in name else f"{name}.txt")
        return path.read_text(encoding="utf-8")

    return read
