from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import builders
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.errors import RecordingError
from compilescope.views.tui import _draw
from compilescope.views.tui._card import Card
from compilescope.views.tui._code_view import clipped, colored
from compilescope.views.tui._editor import editor, editor_command
from compilescope.views.tui._follow import Follower, ReadFailed, ReportRead, state
from compilescope.views.tui._keys import EXPLORER, GRID, PAGE, TABLE, TEXT, bindings
from compilescope.views.tui._news import news, told


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("vim", ["vim", "+7", "/w/-rf.py"]),
        ("/usr/bin/emacs -nw", ["/usr/bin/emacs", "-nw", "+7", "/w/-rf.py"]),
        ("code --wait", ["code", "--wait", "--goto", "/w/-rf.py:7"]),
        ("hx", ["hx", "/w/-rf.py:7"]),
    ],
)
def test_editors_are_told_the_line_in_their_own_way(command, expected) -> None:
    assert editor_command(command, Path("/w/-rf.py"), 7) == expected


def test_an_editor_without_words_or_with_an_open_quote_is_an_error() -> None:
    for command in ("  ", "'vim"):
        with pytest.raises(ValueError, match=r"."):
            editor_command(command, Path("a.py"), 1)
    assert editor_command("vim", Path("/a.py"), None) == ["vim", "/a.py"]


def test_visual_comes_before_editor() -> None:
    assert editor({"VISUAL": "code", "EDITOR": "vim"}) == "code"
    assert editor({"VISUAL": "", "EDITOR": "vim"}) == "vim"
    assert editor({}) is None


@given(
    st.text(alphabet=st.characters(exclude_characters="\n\r")),
    st.sampled_from(["python", "cpp", "text", "no such"]),
)
def test_coloring_a_line_changes_no_character(line, language) -> None:
    assert "".join(text for _, text in colored(language, line)) == line


def test_words_of_a_language_get_their_kind() -> None:
    kinds = {text: kind for kind, text in colored("python", "def f(): return 1  # one")}
    assert (kinds["def"], kinds["f"], kinds["1"], kinds["# one"]) == ("keyword", "name", "number", "comment")


def test_long_and_dangerous_lines_are_made_safe() -> None:
    assert clipped("\x1b[2J") == r"\x1b[2J"
    assert clipped("x" * 9_000).endswith("… (7,000 more)")


def test_the_lines_around_a_line_stop_at_both_ends() -> None:
    source = "a\nb\nc\nd"
    assert _draw.around(source, 1, 1) == [(1, "a"), (2, "b")]
    assert _draw.around(source, 4, 1) == [(3, "c"), (4, "d")]
    assert _draw.around(source, 5) == _draw.around(None, 1) == _draw.around(source, None) == ()


def test_a_card_is_laid_out_for_its_width() -> None:
    card = Card("t", "a.py", 2, facts=[("reason", "one two three four five six")])
    lines = _draw.card(card, [(1, "x"), (2, "y")], 20).plain.splitlines()
    assert lines == [
        "t",
        "  1  x",
        "> 2  y",
        "where   a.py:2",
        "reason  one two",
        "        three four",
        "        five six",
    ]


@pytest.mark.parametrize("keys", [(*GRID, *PAGE, *TABLE, *EXPLORER), (*TEXT, *PAGE, *EXPLORER)])
def test_no_key_is_given_twice_in_one_place(keys) -> None:
    bound = [name for binding in bindings(keys) for name in binding.key.split(",")]
    assert len(bound) == len(set(bound))


def test_only_rows_that_were_not_there_are_news() -> None:
    after = builders.rich()
    before = replace(after, graph_breaks=after.graph_breaks[1:], recompiles=[])
    fresh = news(before, after)
    assert {name: len(keys) for name, keys in fresh.items()} == {"breaks": 1, "recompiles": 4}
    assert list(told(after, fresh)) == [
        "4 new recompiles",
        "new graph break: 25_hot_loop_break.py:13 the branch depends on the value of a tensor",
    ]
    assert news(after, after) == {}


class Source:
    name = "r"

    def __init__(self) -> None:
        self.stamps = 0
        self.answer: object = RecordingError("not yet")

    def stamp(self) -> object:
        self.stamps += 1
        return id(self.answer)

    def glance(self) -> str:
        return ""

    def quick(self) -> None:
        """Nothing before the whole."""

    def load(self) -> object:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def follow(source: Source, *, follow: bool) -> tuple[Follower, list[object], threading.Event]:
    posted: list[object] = []
    arrived = threading.Event()

    def post(message: object) -> None:
        posted.append(message)
        arrived.set()

    return Follower(source, post, follow=follow), posted, arrived  # type: ignore[arg-type]


def test_a_follower_tells_a_failure_once_and_a_report_once_a_change(monkeypatch) -> None:
    monkeypatch.setattr("compilescope.views.tui._follow.EVERY_S", 0.001)
    source = Source()
    follower, posted, arrived = follow(source, follow=True)
    follower.start()
    assert arrived.wait(10)
    while source.stamps < 4:
        time.sleep(0.001)
    arrived.clear()
    source.answer = object()
    assert arrived.wait(10)
    seen = source.stamps
    while source.stamps < seen + 4:
        time.sleep(0.001)
    follower.stop()
    follower.join(10)
    assert [type(message) for message in posted] == [ReadFailed, ReportRead]
    assert posted[0].text == "not yet"
    assert posted[1].opened is source.answer


def test_without_following_it_reads_once_and_again_only_when_asked() -> None:
    source = Source()
    source.answer = object()
    follower, posted, arrived = follow(source, follow=False)
    follower.start()
    assert arrived.wait(10)
    arrived.clear()
    follower.read_again()
    assert arrived.wait(10)
    follower.stop()
    follower.join(10)
    assert [type(message) for message in posted] == [ReportRead, ReportRead]


def test_a_program_that_has_not_compiled_yet() -> None:
    report = builders.empty()
    recording = replace(report.recording, complete=False, exit_status=None, ended=None)
    assert state(replace(report, recording=recording), 10.0, 0.0) == "running, nothing compiled yet"
    assert state(report, 10.0, 0.0) == "exited 0"


def test_a_program_that_writes_nothing_more_may_be_dead() -> None:
    report = builders.rich()
    recording = replace(report.recording, complete=False, exit_status=None, ended="still running")
    running = replace(report, recording=recording)
    assert state(running, 100.0, 0.0, silent_s=45) == "nothing written for 45 s: idle, or dead"
    assert state(report, 100.0, 0.0, silent_s=45) == "killed by SIGKILL"


def test_importing_the_view_imports_neither_torch_nor_a_recording_nor_pandas() -> None:
    import subprocess
    import sys

    others = ("torch", "pandas", "msgspec", "jinja2", "compilescope.recording", "compilescope.views.text")
    code = f"import sys; from compilescope.views.tui import Explorer; print(set({others}) & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_quitting_while_a_recording_is_read_ends_the_follower_quietly() -> None:
    source = Source()
    source.answer = object()

    def post(_message: object) -> None:
        raise RuntimeError("Event loop is closed")

    follower = Follower(source, post, follow=True)  # type: ignore[arg-type]
    follower.start()
    follower.join(10)
    assert not follower.is_alive()
