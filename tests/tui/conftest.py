from __future__ import annotations

import sys
from pathlib import Path

import pytest

# Tests are imported by file name, without packages: what they share needs a place on the path.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    from explorer_driver import CONTEXT_DELAY_S

    for name in ("VISUAL", "EDITOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("compilescope.views.tui._table_screen._CONTEXT_DELAY_S", CONTEXT_DELAY_S)
