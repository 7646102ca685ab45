"""The program owns the terminal: it reads keys from it, sees its size, and gets its Ctrl-C."""

from __future__ import annotations

import os
import pty
import re
import select
import time

import pytest


class Terminal:
    """A pseudo-terminal with a command in it, as its session's foreground process group."""

    def __init__(self, argv: list[str], folder: os.PathLike[str]) -> None:
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execv(argv[0], argv)

    def read_until(self, text: str) -> str:
        deadline = time.monotonic() + 30
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            if select.select([self.fd], [], [], 0.5)[0]:
                self.seen += os.read(self.fd, 10_000).decode()
        return self.seen

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def wait(self) -> int:
        try:
            while chunk := os.read(self.fd, 10_000):
                self.seen += chunk.decode()
        except OSError:
            pass  # how Linux says that the other end is closed
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def terminal(programs):
    def open_terminal(code: str) -> Terminal:
        programs.write("train.py", code)
        return Terminal(programs.recorded_argv("train.py"), programs.folder)

    return open_terminal


# Only the child of pty.fork() runs on, and it execs at once: the warning is about programs that do not.
pytestmark = pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning")


def test_program_sees_the_terminal_and_reads_from_it(terminal):
    screen = terminal(
        "import os, sys\n"
        "print([f.isatty() for f in (sys.stdin, sys.stdout, sys.stderr)], os.tcgetpgrp(0) == os.getpgrp())\n"
        "print('hello', input('name? '))\n"
    )
    screen.read_until("name? ")
    screen.type("Ada\n")
    assert screen.wait() == 0
    assert "[True, True, True] True" in screen.seen
    assert "hello Ada" in screen.seen


def test_ctrl_c_interrupts_the_program_once_and_gives_130(terminal, programs):
    screen = terminal(
        "import time\n"
        "try:\n    print('ready', flush=True)\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n"
        "    time.sleep(0.3)\n    print('cleaned up', flush=True)\n    raise\n"
    )
    screen.read_until("ready")
    screen.type("\x03")
    assert screen.wait() == 130
    assert "cleaned up" in screen.seen
    assert len(re.findall("^KeyboardInterrupt", screen.seen, re.MULTILINE)) == 1
    assert programs.run_json["exit_status"] == 130


def test_summary_comes_after_ctrl_c(programs):
    programs.write(
        "train.py",
        "import time\ntry:\n    print('ready', flush=True)\n    time.sleep(60)\nfinally: print('end')",
    )
    argv = [word for word in programs.recorded_argv("train.py") if word != "-q"]
    screen = Terminal(argv, programs.folder)
    screen.read_until("ready")
    screen.type("\x03")
    assert screen.wait() == 130
    assert (
        0
        < screen.seen.index("end\r\n")
        < screen.seen.index("KeyboardInterrupt\r\n")
        < screen.seen.index("Recording")
    )


def test_program_that_ignores_ctrl_c_runs_on(terminal):
    screen = terminal(
        "import signal\nsignal.signal(signal.SIGINT, lambda *a: print('not now', flush=True))\n"
        "print('ready', flush=True)\nprint('typed', input())\n"
    )
    screen.read_until("ready")
    screen.type("\x03")
    screen.read_until("not now")
    screen.type("go\n")
    assert screen.wait() == 0
    assert "typed go" in screen.seen


def test_raw_mode_and_size_pass_through(terminal):
    screen = terminal(
        "import os, sys, tty\nprint(os.get_terminal_size(0).columns)\n"
        "tty.setraw(0)\nprint('raw', flush=True)\nkey = os.read(0, 1)\nprint(key)\n"
    )
    screen.read_until("raw")
    screen.type("\x03")
    assert screen.wait() == 0
    assert r"b'\x03'" in screen.seen
