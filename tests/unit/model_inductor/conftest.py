"""Real texts from the folder ``data``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

_DATA = Path(__file__).parent / "data"


@pytest.fixture
def real() -> Callable[[str], str]:
    """The text recorded under this name, see data/README.md."""
    return lambda name: (_DATA / f"{name}.txt").read_text(encoding="utf-8")
