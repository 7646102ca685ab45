"""One fact: a small program whose answer is known by construction, and what the report must say of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compilescope.analysis import build_report
from compilescope.recording import open_recording

PRELUDE = "import torch, enum\ntorch._dynamo.config.recompile_limit = 3\nx = torch.ones(4, 3)\n"


@dataclass(frozen=True, slots=True)
class Fact:
    """``attach``: the program attaches capture itself, as ``capture.attach(recording)``; else it is run by
    the command. ``status``: how it ends. ``needs``: the hook without which this torch cannot tell the fact.
    """

    program: str
    ask: Callable[[Any], Any]
    expected: Any
    attach: bool = False
    status: int = 0
    env: Mapping[str, str] = field(default_factory=dict)
    needs: str | None = None

    def result(self, hooks: Mapping[str, str]) -> str:
        """ "ok", "wrong: ..." or "missing: ..."."""
        if self.needs is not None and hooks[self.needs] != "ok":
            return hooks[self.needs]
        with tempfile.TemporaryDirectory() as folder:
            script, recording = Path(folder) / "program.py", Path(folder) / "rec"
            script.write_text(PRELUDE + "\n".join(line[8:] for line in self.program.split("\n")))
            command = [sys.executable, "-m", "compilescope", "run", "-q", "-o", str(recording), str(script)]
            if self.attach:
                command = [sys.executable, str(script), str(recording)]
            environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": f"{folder}/cache", **self.env}
            run = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600
            )
            if run.returncode != self.status:
                return f"wrong: the program ended with {run.returncode}: {run.stderr[-200:]}"
            answer = self.ask(build_report(open_recording(recording)))
        return "ok" if answer == self.expected else f"wrong: {json.dumps(answer, default=str)}"
