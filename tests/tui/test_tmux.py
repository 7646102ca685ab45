"""The commands in a real terminal, on a real recording."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from compilescope.cli._running import recording_of
from compilescope.recording import Writer

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

SCRIPT = 'import torch\n\n\ndef f(x):\n    print("leaves the graph")\n    return x + 1\n'
REASON = """Graph break in user code at {file}:5
Graph Break Reason: Failed to trace builtin operator
  Explanation: Dynamo does not know how to trace builtin operator `print`
User code traceback:
  File "{file}", line 5, in f
    print("leaves the graph")
"""


class Terminal:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._sockets = tempfile.TemporaryDirectory(prefix="tmux-")  # a socket's path may have 107 bytes
        self._socket = f"{self._sockets.name}/s"

    def start(self, command: str) -> None:
        code = f"from compilescope.cli.{command} import command; command()"
        self.shell(f"{sys.executable} -c '{code}' job.compilescope")

    def shell(self, command: str, *, size: tuple[int, int] = (100, 30)) -> None:
        shell = f"{command}; echo status=$?; sleep 60"
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), shell)

    def send(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def wait_for(self, text: str, seconds: float = 15) -> str:
        for _ in range(int(10 * seconds)):
            shown = self._tmux("capture-pane", "-p")
            if text in shown:
                return shown
            time.sleep(0.1)
        raise AssertionError(f"{text!r} is not on the screen:\n{shown}")

    def kill(self) -> None:
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], check=False, capture_output=True)
        self._sockets.cleanup()

    def _tmux(self, *words: str) -> str:
        environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        done = subprocess.run(
            ["tmux", "-u", "-S", self._socket, *words],
            check=True, capture_output=True, text=True, cwd=self.folder, env=environment,
        )  # fmt: skip
        return done.stdout


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    yield terminal
    terminal.kill()


class Job:
    """A program that is recorded: what capture would write of it, a step at a time."""

    def __init__(self, folder: Path) -> None:
        self.script = folder / "train.py"
        self.script.write_text(SCRIPT)
        head = {"pid": 77, "ppid": 1, "start_ns": time.time_ns(), "argv": ["train.py"], "cwd": str(folder)}
        head |= {"versions": {"torch": "2.13.0"}, "env": [], "hooks": {}, "config": {}, "late": False}
        self.writer = Writer(folder / "job.compilescope", head)
        self.writer.record("source", {"m": {"path": str(self.script)}}, payload=SCRIPT, payload_kind="source")

    def compile(self, number: int) -> None:
        file = self.writer.file_id(str(self.script))
        compile_id = (0, number, 0, 0)
        stack = [{"line": 4, "name": "f", "filename": file, "loc": "def f(x):"}]
        self.writer.record("dynamo_start", {"stack": stack}, c=compile_id)
        name = {"name": "dynamo_graph_break_reason", "encoding": "string"}
        self.writer.record("artifact", {"m": name}, c=compile_id, payload=REASON.format(file=self.script),
                           payload_kind="graph_break")  # fmt: skip
        graph = {"g": number, "backend": "eager", "ops": 1, "placeholders": [], "symbols": {}, "sizes": []}
        self.writer.record("graph", {"m": graph}, c=compile_id)
        self.writer.record("dynamo_output_graph", {"m": {}}, c=compile_id, payload="class GraphModule: ...",
                           payload_kind="dynamo_output_graph")  # fmt: skip


def test_tui_shows_a_recording_and_the_code_behind_it(terminal: Terminal) -> None:
    job = Job(terminal.folder)
    job.compile(0)
    job.writer.close()
    terminal.start("tui")
    terminal.wait_for("Fix first")
    terminal.send("4")
    assert "train.py:5" in terminal.wait_for("Which lines leave the graph")
    terminal.send("Enter")
    terminal.wait_for('>5      print("leaves the graph")')
    terminal.send("j")
    terminal.wait_for("graph break as torch tells it")
    terminal.send("q")
    terminal.wait_for("status=0")


def test_watch_waits_for_the_job_follows_it_and_outlives_it(terminal: Terminal) -> None:
    terminal.start("watch")
    terminal.wait_for("Waiting for it.")
    job = Job(terminal.folder)
    job.compile(0)
    shown = terminal.wait_for("running")
    terminal.send("5")
    terminal.wait_for("What was compiled")
    job.compile(1)
    terminal.send("l")
    terminal.wait_for("[0/1]")
    job.writer.close()
    shutil.rmtree(terminal.folder / "job.compilescope")
    shown = terminal.wait_for("cannot be read now")
    assert "[0/1]" in shown
    again = Job(terminal.folder)
    again.compile(0)
    terminal.wait_for("running")
    terminal.send("q")
    terminal.wait_for("status=0")


PROGRAM = """
import sys, time, torch
@torch.compile(backend="eager", dynamic=False)
def f(x):
    return x + 1
f(torch.ones(2))
print("printed [bold]early")
try:
    while True:
        time.sleep(0.05)
except KeyboardInterrupt:
    print("was interrupted", file=sys.stderr)
    sys.exit(7)
"""


def test_live_shows_the_program_its_output_and_ends_with_its_status(terminal: Terminal) -> None:
    (terminal.folder / "train.py").write_text(PROGRAM)
    terminal.shell(f"{sys.executable} -m compilescope run --live -o job.compilescope train.py")
    terminal.wait_for("Nothing to fix was found", seconds=60)
    terminal.send("O")
    terminal.wait_for("printed [bold]early", seconds=60)
    terminal.send("5")
    terminal.wait_for("1 of 1", seconds=60)
    terminal.send("C-c")
    terminal.send("O")
    terminal.wait_for("was interrupted", seconds=60)
    terminal.send("q")
    shown = terminal.wait_for("status=7", seconds=60)
    assert "output.log" in shown
    assert "was interrupted" not in shown.split("output.log")[-1]
    log = terminal.folder / "job.compilescope" / "output.log"
    assert log.read_text().splitlines()[-2:] == ["printed [bold]early", "was interrupted"]


def test_the_program_goes_on_when_the_explorer_is_left_and_a_pid_finds_it(terminal: Terminal) -> None:
    (terminal.folder / "train.py").write_text(PROGRAM)
    terminal.shell(f"{sys.executable} -m compilescope run --live -q -o job.compilescope train.py")
    terminal.wait_for("Nothing to fix was found", seconds=60)
    terminal.send("q")
    terminal.wait_for("the program goes on; ctrl-c interrupts it", seconds=60)
    (process,) = (terminal.folder / "job.compilescope").glob("pid*")
    pid = process.name.split("-")[0].removeprefix("pid")
    assert recording_of(Path(pid)) == terminal.folder / "job.compilescope"
    terminal.send("C-c")
    terminal.wait_for("status=7", seconds=60)
