from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

# Tests are imported by file name, without packages: the builders next to `unit/` need a place on the path.
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

import builders

from compilescope.analysis.report import Report

ROOT = Path(__file__).parents[3]


@pytest.fixture
def report() -> Callable[..., Report]:
    """An empty report with the given fields replaced; it has settled and took 100 s unless told otherwise."""

    def make(*, wall_s: float = 100.0, settled: bool = True, **fields: object) -> Report:
        base = builders.empty()
        return replace(
            base,
            recording=replace(base.recording, wall_s=wall_s, name="train.py"),
            verdict=replace(base.verdict, settled=settled),
            **fields,
        )

    return make
