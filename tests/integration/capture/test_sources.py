"""Code that lies in no file: cells of a notebook, ``exec``, ``python -c``; and files with odd names."""

from __future__ import annotations

import linecache
import subprocess
import sys
from typing import Any

import torch


def _defined(source: str, filename: str) -> Any:
    scope: dict[str, Any] = {"torch": torch}
    exec(compile(source, filename, "exec"), scope)
    return scope["run"]


_CELL = "def run(x):\n    y = x + 1\n    torch._dynamo.graph_break()\n    return y * 2\n"


def test_a_notebook_cell_is_recorded_with_its_text(recording: Any) -> None:
    name = "<ipython-input-3-0123456789ab>"
    linecache.cache[name] = (len(_CELL), None, _CELL.splitlines(keepends=True), name)
    with recording() as recorded:
        torch.compile(_defined(_CELL, name), backend="eager")(torch.ones(1))
    del linecache.cache[name]
    (process,) = recorded.processes
    texts = {r.m["path"]: process.text(r.p) for r in recorded.records("source")}
    assert texts[name] == _CELL
    broken = recorded.records("graph")[0].m["break"]
    assert (process.file(broken["file"]), broken["line"]) == (name, 3)


def test_code_without_text_is_recorded_by_name(recording: Any) -> None:
    with recording() as recorded:
        torch.compile(_defined(_CELL, "<generated model>"), backend="eager")(torch.ones(1))
    (process,) = recorded.processes
    files = {process.file(r.m["file"]) or "" for r in recorded.records("convert")}
    # torch 2.11 puts a frame of its own around a function whose source it cannot find.
    assert {file for file in files if not file.endswith("external_utils.py")} == {"<generated model>"}
    assert ("run", "compiled") in recorded.outcomes() or len(files) == 2


def test_hostile_file_names_are_recorded_as_they_are(recording: Any) -> None:
    names = ["<script>alert(1)</script>.py", "[bold]x[/bold]\x1b[31m.py", "../../etc/passwd"]
    with recording() as recorded:
        for name in names:
            torch.compile(_defined(_CELL, name), backend="eager")(torch.ones(1))
    (process,) = recorded.processes
    files = {process.file(r.m["file"]) for r in recorded.records("convert")}
    assert set(names) <= files
    assert recorded.lost() == {}
    assert process.damage == []


def test_text_that_is_not_utf8_is_recorded(recording: Any) -> None:
    def run(x: torch.Tensor, text: str) -> torch.Tensor:
        return x + len(text)

    with recording() as recorded:
        compiled = torch.compile(run, backend="eager")
        assert compiled(torch.ones(1), "\ud800").tolist() == [2.0]
        assert compiled(torch.ones(1), "\udfff\ud800").tolist() == [3.0]
    assert len(recorded.records("guard_fail")) == 1
    assert recorded.lost() == {}


def test_a_program_given_on_the_command_line_has_user_code(scripts: Any) -> None:
    program = scripts.PREAMBLE + (
        "import torch\ndef f(x):\n    return x + 1\ntorch.compile(f, backend='eager')(torch.ones(1))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(scripts.folder / "recording")],
        env=scripts.environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    (process,) = scripts.recorded.processes
    (converted,) = scripts.recorded.records("convert")
    assert (converted.m["name"], converted.m["outcome"]) == ("f", "compiled")
    assert [process.file(converted.m["call"][0][0]), converted.m["call"][0][1]] == ["<string>", 8]
    texts = {r.m["path"]: process.text(r.p) for r in scripts.recorded.records("source")}
    assert texts.get("<string>") == program


def test_arguments_that_are_not_utf8(scripts: Any) -> None:
    command = scripts.command(
        "import torch\ntorch.compile(lambda x: x + 1, backend='eager')(torch.ones(1))\n"
    )
    done = subprocess.run(
        [*command, b"\xff"], env=scripts.environment(), capture_output=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    (process,) = scripts.recorded.processes
    assert process.head["versions"]["torch"]
    assert scripts.recorded.outcomes() == [("<lambda>", "compiled")]
    assert scripts.recorded.lost() == {}
