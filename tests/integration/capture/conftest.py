"""Capture attached to this very process around real torch.compile calls, and scripts of their own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch._dynamo

import compilescope.capture
from compilescope.recording import open_recording

ROOT = Path(__file__).parents[3]


class Recorded:
    """What one recording holds, read after capture was detached."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def processes(self) -> list[Any]:
        return list(open_recording(self.folder).processes)

    def records(self, kind: str) -> list[Any]:
        return [r for process in self.processes for r in process.records() if r.k == kind]

    def lost(self) -> dict[str, int]:
        return {r.x["why"]: r.x["n"] for r in self.records("lost")}

    def eager(self) -> dict[Any, int]:
        """Function name -> calls that ran eager after the limit; None: could not be attributed."""
        names = {r.m["code"]: r.m["name"] for r in self.records("limit")}
        last = {serial: n for r in self.records("runs") for serial, n in r.x.get("e", ())}
        return {names.get(serial): n for serial, n in last.items() if n}

    def calls(self) -> list[int]:
        """Calls of each graph, in the order they were compiled."""
        last = {serial: n for r in self.records("runs") for serial, n, _ in r.x.get("g", ())}
        return [last.get(r.m["g"], 0) for r in self.records("graph")]

    def sizes(self) -> list[Any]:
        last = {serial: sizes for r in self.records("runs") for serial, _, sizes in r.x.get("g", ())}
        return [last.get(r.m["g"]) for r in self.records("graph")]

    def outcomes(self) -> list[tuple[str, str]]:
        return [(r.m["name"], r.m["outcome"]) for r in self.records("convert")]


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """``with recording() as recorded:`` captures the block; ``recorded`` is read after it."""

    @contextlib.contextmanager
    def captured(name: str = "r", *, reset: bool = True) -> Iterator[Recorded]:
        if reset:
            torch._dynamo.reset()
        compilescope.capture.attach(tmp_path / name)
        try:
            yield Recorded(tmp_path / name)
        finally:
            compilescope.capture.detach()

    yield captured
    compilescope.capture.detach()
    torch._dynamo.reset()
    torch.compiler.set_stance("default")


class Scripts:
    """Programs in processes of their own: attached from their first line on."""

    PREAMBLE = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "import compilescope.capture as capture\n"
        "capture.attach(Path(sys.argv[1]))\n"
    )

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def command(self, code: str, *, attach: bool = True, name: str = "program.py") -> list[str]:
        path = self.folder / name
        path.write_text((self.PREAMBLE if attach else "") + code)
        return [sys.executable, str(path), str(self.folder / "recording")]

    def run(self, code: str, *args: str, env: dict[str, str] | None = None, **how: Any) -> Any:
        return subprocess.run(
            [*self.command(code, **how), *args],
            env=self.environment(env),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def environment(self, more: dict[str, str] | None = None) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(ROOT), **(more or {})}

    @property
    def recorded(self) -> Recorded:
        return Recorded(self.folder / "recording")


@pytest.fixture
def scripts(tmp_path: Path) -> Scripts:
    return Scripts(tmp_path)
