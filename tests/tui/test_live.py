"""A recording that grows, breaks, vanishes and starts again while it is watched."""

from __future__ import annotations

from dataclasses import replace

import builders
from explorer_driver import Driver, FakeSource, drive

from compilescope.analysis.report import Report
from compilescope.errors import RecordingNotFound

STARTED_S = 1796032800.0  # 2026-11-30T10:00:00Z
STARTED = "2026-11-30T10:00:00Z"


def running(report: Report, **verdict: object) -> Report:
    recording = replace(
        report.recording, started=STARTED, complete=False, exit_status=None, ended="still running"
    )
    return replace(report, recording=recording, verdict=replace(report.verdict, **verdict))


def test_new_rows_are_announced_marked_and_the_cursor_stays() -> None:
    base = running(builders.rich())
    source = FakeSource(replace(base, graph_breaks=base.graph_breaks[:1]))

    async def steps(screen: Driver) -> None:
        await screen.press("4")
        before = screen.row
        source.replace(base)
        await screen.until(lambda: source.loads == 2)
        assert "2 new graph breaks" in screen.text
        assert screen.row == before
        assert [line[:2] for line in screen.lines if "fauxlib/util.py:8" in line] == [" *"]
        assert len(screen.app.fresh["breaks"]) == 2

    drive(source, steps, follow=True)


def test_one_new_row_is_announced_by_its_line() -> None:
    base = running(builders.rich())
    source = FakeSource(replace(base, limit_hits=[]))

    async def steps(screen: Driver) -> None:
        source.replace(base)
        await screen.until(lambda: source.loads == 2)
        assert "new limit hit: 24_history_grows.py:5" in screen.text

    drive(source, steps, follow=True)


def test_the_status_line_tells_how_long_nothing_was_compiled() -> None:
    for last_s, now_s, expected in (
        (10.0, 11.0, "running, compiling"),
        (10.0, 52.0, "running, stopped compiling 42 s ago"),
        (None, 52.0, "running"),
    ):
        report = running(builders.rich(), last_compile_s=last_s)

        async def steps(screen: Driver, expected: str = expected) -> None:
            assert screen.lines[-2].rstrip().endswith(expected)

        drive(report, steps, follow=True, clock=lambda now_s=now_s: STARTED_S + now_s)


def test_the_end_of_the_program_is_told() -> None:
    async def steps(screen: Driver) -> None:
        assert screen.lines[-2].rstrip().endswith("killed by SIGKILL")

    drive(builders.rich(), steps, follow=True)


def test_a_recording_that_is_not_there_yet_is_waited_for() -> None:
    source = FakeSource(RecordingNotFound("There is no recording at train.compilescope."))

    async def steps(screen: Driver) -> None:
        text = await screen.until(lambda: "Waiting for it." in screen.text)
        assert "There is no recording at train.compilescope." in text
        source.replace(running(builders.rich()))
        text = await screen.until(lambda: screen.app.report is not None)
        assert "Compiling took" in text

    assert drive(source, steps, follow=True).problem is None


def test_what_was_read_last_stays_when_the_recording_vanishes_and_a_new_run_is_taken_up() -> None:
    source = FakeSource(running(builders.rich()))

    async def steps(screen: Driver) -> None:
        await screen.press("3")
        source.replace(OSError(116, "Stale file handle"))
        text = await screen.until(lambda: "cannot be read now" in screen.text)
        assert "len(history)" in text
        again = running(builders.history_grows())
        source.replace(replace(again, recording=replace(again.recording, started="2026-11-30T11:00:00Z")))
        await screen.until(lambda: len(screen.app.report.recompiles) == 2)
        assert "cannot be read now" not in screen.text
        assert screen.app.fresh == {}

    drive(source, steps, follow=True)


def test_a_view_outlives_a_report_that_cannot_be_built() -> None:
    source = FakeSource(running(builders.rich()))

    async def steps(screen: Driver) -> None:
        source.replace(ZeroDivisionError("in the analysis"))
        await screen.until(lambda: "cannot be read now" in screen.text)
        source.replace(running(builders.rich()))
        await screen.until(lambda: "cannot be read now" not in screen.text)

    drive(source, steps, follow=True)


def test_the_tree_stays_open_while_the_recording_grows() -> None:
    base = running(builders.rich())
    source = FakeSource(base)

    async def steps(screen: Driver) -> None:
        await screen.press("5", "l", "j", "j")
        before = screen.row
        source.replace(replace(base, totals=replace(base.totals, compiles=99)))
        await screen.until(lambda: source.loads == 2)
        assert screen.row == before

    drive(source, steps, follow=True)
