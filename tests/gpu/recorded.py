"""Programs for a GPU recorded in a process of their own, and what such a recording and its output say."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from compilescope.analysis import Report, build_report
from compilescope.model.inductor import KINDS, Collector, CompiledGraph, Fact, InductorFacts, read_graph
from compilescope.recording import ProcessRecording, open_recording

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROGRAMS = ("mlp", "layers", "llama", "cudagraphs", "two_assemblers", "one_assembler")
_TITLE = re.compile(r"^AUTOTUNE (?P<op>\w+)\((?P<shapes>[^)]*)\)$", re.MULTILINE)
_ROW = re.compile(r"^  (?P<name>\w+) (?P<ms>[\d.]+) ms 100\.0%", re.MULTILINE)


@dataclass(frozen=True)
class Recorded:
    """One run of a program: its recording, and what it printed."""

    program: str
    recording: Path
    out: str
    err: str

    @cached_property
    def report(self) -> Report:
        return build_report(open_recording(self.recording))

    @cached_property
    def process(self) -> ProcessRecording:
        (process,) = open_recording(self.recording).processes
        return process

    @cached_property
    def facts(self) -> InductorFacts:
        collector = Collector()
        for record in self.process.records():
            if record.k in KINDS:
                text = functools.partial(self.process.text, record.p)
                collector.add(Fact(record.k, record.c, record.m, text, record.ca, record.x.get("rows", ())))
        return collector.finish()

    @cached_property
    def graphs(self) -> list[CompiledGraph]:
        return [read_graph(source, self.process.file) for source in self.facts.graphs]

    def line(self, code: str) -> int:
        """The number of the program's line that reads so."""
        text = (HERE / "programs" / f"{self.program}.py").read_text(encoding="utf-8")
        return next(i for i, line in enumerate(text.splitlines(), 1) if line.strip() == code)

    def printed(self, word: str) -> int:
        """The number behind ``WORD`` in what the program printed."""
        return int(next(line.split()[1] for line in self.out.splitlines() if line.startswith(word)))

    @cached_property
    def autotune_printout(self) -> list[tuple[str, str, str, float]]:
        """(op, shapes, winner, milliseconds) of each table Inductor printed while it tuned."""
        found = []
        for title in _TITLE.finditer(self.err):
            best = _ROW.search(self.err, title.end())
            if best is not None:
                found.append((title["op"], title["shapes"], best["name"], float(best["ms"])))
        return found


def run(program: str, folder: Path) -> Recorded:
    """Record it over a compiler cache of its own. Raises with the program's output if it fails.

    The program is copied first: a recording that is kept should not name the folders of one machine.
    """
    recording = folder / f"{program}.compilescope"
    with tempfile.TemporaryDirectory(prefix="gpu-") as home:
        copied = Path(home) / "programs"
        shutil.copytree(HERE / "programs", copied)
        shutil.copyfile(ROOT / "tests" / "integration" / "inductor" / "record.py", copied / "record.py")
        env = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": f"{home}/cache", "PYTHONPATH": _python_path()}
        command = [sys.executable, "programs/record.py", str(recording), f"programs/{program}.py"]
        done = subprocess.run(
            command, cwd=home, env=env, capture_output=True, text=True, timeout=400, check=False
        )
    if done.returncode:
        raise RuntimeError(f"{program} failed\n{done.stdout[-2000:]}\n{done.stderr[-6000:]}")
    return Recorded(program, recording, done.stdout, done.stderr)


def _python_path() -> str:
    """Ours first; entries of the caller's hold where the program's working directory is another."""
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join([str(ROOT), *(str(Path(entry).resolve()) for entry in inherited if entry)])


def kept(program: str, folder: Path) -> Recorded:
    """From what :mod:`record_fixtures` wrote: a packed recording and the program's output beside it."""
    out, err = (folder / f"{program}.{kind}.txt" for kind in ("out", "err"))
    return Recorded(
        program,
        folder / f"{program}.zip",
        out.read_text(encoding="utf-8"),
        err.read_text(encoding="utf-8"),
    )
