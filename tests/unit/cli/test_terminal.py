from __future__ import annotations

import io
import sys

import pytest

from compilescope.cli._terminal import default_width, is_utf8, say, use_color, write


class Screen(io.StringIO):
    def __init__(self, tty: bool = True) -> None:
        super().__init__()
        self.tty = tty

    def isatty(self) -> bool:
        return self.tty


@pytest.mark.parametrize(
    ("choice", "tty", "environ", "colored"),
    [
        ("auto", True, {}, True),
        ("auto", False, {}, False),
        ("auto", True, {"NO_COLOR": "1"}, False),
        ("auto", True, {"NO_COLOR": ""}, True),
        ("auto", True, {"TERM": "dumb"}, False),
        ("auto", False, {"FORCE_COLOR": "1"}, True),
        ("auto", False, {"FORCE_COLOR": ""}, False),
        ("auto", True, {"TERM": "dumb", "FORCE_COLOR": "1"}, True),
        ("auto", True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ("always", False, {"NO_COLOR": "1", "TERM": "dumb"}, True),
        ("never", True, {"FORCE_COLOR": "1"}, False),
    ],
)
def test_color(monkeypatch, choice, tty, environ, colored):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert use_color(choice, Screen(tty)) is colored


@pytest.mark.parametrize(("columns", "width"), [("200", 80), ("80", 80), ("66", 66), ("10", 40)])
def test_width(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    assert default_width() == width


def stream(encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding)


@pytest.mark.parametrize(
    ("encoding", "written"),
    [
        ("utf-8", "é → \\udcff".encode()),
        ("ascii", b"\\xe9 \\u2192 \\udcff"),
        ("latin-1", b"\\xe9 \\u2192 \\udcff"),
    ],
)
def test_nothing_is_lost_where_it_cannot_be_encoded(encoding, written):
    target = stream(encoding)
    write("é → \udcff", target)
    assert target.buffer.getvalue() == written


@pytest.mark.parametrize(
    ("encoding", "utf8"), [("UTF-8", True), ("utf8", True), ("ascii", False), ("cp1252", False)]
)
def test_is_utf8(encoding, utf8):
    assert is_utf8(stream(encoding)) is utf8
    assert not is_utf8(io.StringIO())


def test_talk_goes_to_stderr(capsys):
    say("hello")
    assert capsys.readouterr() == ("", "compilescope: hello\n")


def test_names_in_messages_cannot_drive_the_terminal(capsys):
    say("\x1b[2J\x9b1m\u202e.py\udcff exists\n  hint")
    assert capsys.readouterr().err == "compilescope: \\x1b[2J\\x9b1m\\u202e.py\\udcff exists\n  hint\n"


@pytest.mark.parametrize("closed", [True, False])
def test_nobody_to_talk_to(monkeypatch, closed):
    gone = io.StringIO()
    gone.close()
    monkeypatch.setattr(sys, "stderr", gone if closed else None)
    say("hello")
