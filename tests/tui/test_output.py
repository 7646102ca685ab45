"""What the program printed, and interrupting it from the explorer."""

from __future__ import annotations

from pathlib import Path

import builders
import pytest
from explorer_driver import Driver, FakeSource, drive

from compilescope.cli._explore import OUTPUT_LOG, RecordingSource


def printing(text: str | None) -> FakeSource:
    source = FakeSource(builders.rich())
    source.printed = text
    return source


def test_the_end_is_kept_in_view_while_the_program_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compilescope.views.tui._output_screen.EVERY_S", 0.02)
    source = printing("\n".join(f"step {n}" for n in range(100)))

    async def steps(screen: Driver) -> None:
        await screen.press("O")
        await screen.until(lambda: "step 99" in screen.text)
        assert "O Output" in screen.lines[0]
        source.printed = (source.printed or "") + "\n[bold]step 100\x07"
        await screen.until(lambda: "[bold]step 100" in screen.text)
        await screen.press("g")
        source.printed += "\nstep 101"
        await screen.until(lambda: "102 lines" in screen.text)
        assert "step 0" in screen.text  # who looks at the start is left there
        await screen.press("slash", *"step 42", "enter")
        assert "step 42" in screen.text
        assert "search: step 42" in screen.text

    drive(source, steps, size=(100, 20))


def test_a_program_that_kept_its_terminal_has_no_output_here() -> None:
    async def steps(screen: Driver) -> None:
        assert "O Output" not in screen.lines[0]
        assert "went to its own terminal" in await screen.press("O")

    async def silent(screen: Driver) -> None:
        await screen.press("O")
        await screen.until(lambda: "Nothing was printed yet." in screen.text)

    drive(printing(None), steps)
    drive(printing(""), silent)


def test_ctrl_c_interrupts_the_program_and_leaves_the_explorer_open() -> None:
    asked = []

    def interrupt() -> str:
        asked.append(1)
        return "sent the program an interrupt"

    async def steps(screen: Driver) -> None:
        assert "sent the program an interrupt" in await screen.press("ctrl+c")
        assert screen.app.is_running
        await screen.press("slash", "ctrl+c")
        assert len(asked) == 2

    drive(printing("x"), steps, interrupt=interrupt)


def test_without_a_program_ctrl_c_names_the_key_that_quits() -> None:
    async def steps(screen: Driver) -> None:
        await screen.press("ctrl+c")
        assert screen.app.is_running
        assert "quit" in screen.text

    drive(printing(None), steps)


def test_the_end_of_a_long_file_without_what_only_a_terminal_shows(tmp_path: Path) -> None:
    folder = tmp_path / "r.compilescope"
    folder.mkdir()
    source = RecordingSource(folder)
    assert source.output() is None
    log = folder / OUTPUT_LOG
    log.write_bytes(b"\x1b[31mred\x1b[0m\n 10 %\r 50 %\r100 %\r\n\x1b]0;title\x07done \xff\n")
    read = source.output()
    assert read is not None
    assert read() == "red\n100 %\ndone �\n"
    log.write_bytes(b"first\n" + b"x" * 300_000 + b"\nlast\n")
    assert read() == "last\n"
    log.unlink()
    assert read() is None
