"""Programs recorded in a process of their own, over a compiler cache of their own."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from compilescope.model.inductor import KINDS, Collector, Fact, InductorFacts
from compilescope.recording import ProcessRecording, open_recording

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[2]


def collected(process: ProcessRecording) -> InductorFacts:
    collector = Collector()
    for record in process.records():
        if record.k in KINDS:
            text = functools.partial(process.text, record.p)
            collector.add(Fact(record.k, record.c, record.m, text, record.ca, record.x.get("rows", ())))
    return collector.finish()


@pytest.fixture(scope="session")
def record(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., ProcessRecording]:
    """``record(program, *arguments)``: run it, and the recording of its process. ``env`` comes on top."""

    def run(program: str, *arguments: str, env: Mapping[str, str] | None = None) -> ProcessRecording:
        folder = tmp_path_factory.mktemp(program)
        path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
        own = {"TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": path}
        env = {**os.environ, **own, **(env or {})}
        script = _HERE / "programs" / f"{program}.py"
        recording = folder / "run.compilescope"
        command = [sys.executable, str(_HERE / "record.py"), str(recording), str(script), *arguments]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stderr
        (process,) = open_recording(recording).processes
        return process

    return run
