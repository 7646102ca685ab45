"""What the explorer looks like. The documentation shows these pictures."""

from __future__ import annotations

from collections.abc import Callable

import builders
import pytest
from explorer_driver import Driver, FakeSource, drive
from snapshots import SvgSnapshot
from syrupy.assertion import SnapshotAssertion
from test_compare import diff
from test_ladder import poor_ladder

from compilescope.analysis.report import Report

Look = Callable[..., None]


@pytest.fixture
def looks_the_same(snapshot: SnapshotAssertion) -> Look:
    def look(*keys: str, size: tuple[int, int] = (100, 30), of: Report | FakeSource | None = None) -> None:
        pictures: list[str] = []

        async def steps(screen: Driver) -> None:
            await screen.press(*keys)
            pictures.append(screen.app.export_screenshot(title="compilescope tui"))

        drive(of or builders.rich(), steps, size=size)
        assert pictures[0] == snapshot(extension_class=SvgSnapshot)

    return look


def test_overview(looks_the_same: Look) -> None:
    looks_the_same()


def test_findings_at_80x24(looks_the_same: Look) -> None:
    looks_the_same("2", size=(80, 24))


def test_recompiles(looks_the_same: Look) -> None:
    looks_the_same("3")


def test_breaks(looks_the_same: Look) -> None:
    looks_the_same("4", "j")


def test_frames(looks_the_same: Look) -> None:
    looks_the_same("5", "l", "j", "l")


def test_shapes(looks_the_same: Look) -> None:
    looks_the_same("6", size=(160, 36))


def test_code(looks_the_same: Look) -> None:
    looks_the_same("3", "enter", "j", size=(160, 36))


def test_ladder(looks_the_same: Look) -> None:
    looks_the_same("L", "minus", "minus", "minus", "minus", "minus", size=(160, 36), of=poor_ladder())


def test_compare(looks_the_same: Look) -> None:
    shown = FakeSource(poor_ladder())
    shown.diff = lambda: (diff(), "")
    looks_the_same("c", *"before", "enter", size=(160, 36), of=shown)
