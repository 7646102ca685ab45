"""``run --live``: the explorer beside the running program, in a process of its own.

The program's output goes to a file in the recording, which the explorer shows: two cannot draw on one
terminal. The explorer may be left, or die, at any time; the program does not notice.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compilescope.cli._explore import OUTPUT_LOG, is_terminal
from compilescope.cli._terminal import say
from compilescope.launch import Outcome, Target, run_program


@dataclass(slots=True)
class _Explorer:
    """The explorer's process, once the recording is there."""

    process: subprocess.Popen[bytes] | None = field(default=None)

    def open(self, recording: Path) -> None:
        command = [sys.executable, "-m", "compilescope", "watch", "--job", str(os.getpid()), str(recording)]
        try:
            self.process = subprocess.Popen(command)
        except OSError as problem:
            say(f"the explorer cannot be started: {problem}: the program runs on")

    def wait(self) -> None:
        while self.process is not None:
            try:
                self.process.wait()
                return
            except KeyboardInterrupt:  # the explorer's own to answer: it reads the key, and no signal comes
                continue


def run_live(target: Target, *, say: Callable[[str], None], **options: Any) -> Outcome:
    """As ``run_program``, and waits until the explorer was left too. Raises what that raises.

    Without a terminal there is no explorer, and output goes where it always does.
    """
    if not is_terminal():
        say("not a terminal: the program runs without the explorer")
        return run_program(target, say=say, **options)
    # A program that prints to a file writes it in blocks: what it prints would come late, or never.
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    explorer = _Explorer()
    outcome = run_program(target, log=Path(OUTPUT_LOG), started=explorer.open, say=say, **options)
    explorer.wait()
    if outcome.recording is not None:
        say(f"the program's output is in {outcome.recording / OUTPUT_LOG}")
    return outcome
