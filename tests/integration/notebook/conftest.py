"""One real notebook, executed once, whose outputs several tests look at."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[3]
CELLS = {
    "load": "import torch, compilescope\n%load_ext compilescope",
    "define": (
        "@torch.compile(backend='eager', dynamic=False)\n"
        "def scaled(x, n):\n"
        "    y = x * n\n"
        "    print('value', n)\n"
        "    return y + 1"
    ),
    "with": "with compilescope.profile() as p:\n    for n in (1, 2, 3):\n        scaled(torch.ones(3), n)\np",
    "facts": (
        "import json\n"
        "[found], [first, *_] = p.report.graph_breaks, p.report.recompiles\n"
        "facts = [found.file, found.call_path, first.code,\n"
        "         p.report.recording.name, p.report.recording.ended, sorted(p._contents().sources)]\n"
        "print(json.dumps(facts))"
    ),
    "magic": "%%compilescope -n q\nlast = scaled(torch.ones(3), 8)\nlast",
    "raises": "%%compilescope\nscaled(torch.ones(3), 9)\n1 / 0",
    "name": "print(q.report.totals.compiles, last.tolist())",
    "options": "%%compilescope --no-such-option\n1",
    "awaits": "%%compilescope\nimport asyncio\nawait asyncio.sleep(0)",
    "show": "p.show(500)",
}


@dataclass
class Executed:
    """``outputs`` of each cell by its name in CELLS, and the notebook itself."""

    notebook: Any

    def outputs(self, name: str, kind: str | None = None) -> list[Any]:
        cell = self.notebook.cells[list(CELLS).index(name)]
        return [output for output in cell.outputs if kind is None or output.output_type == kind]

    def html(self, name: str) -> str:
        return next(o.data["text/html"] for o in self.outputs(name) if "text/html" in o.get("data", {}))

    def printed(self, name: str) -> str:
        return "".join(output.text for output in self.outputs(name, "stream"))

    def json(self, name: str) -> Any:
        return json.loads(self.printed(name))


@pytest.fixture(scope="session")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Executed:
    """In a kernel of this interpreter, in an empty folder."""
    folder = tmp_path_factory.mktemp("notebook")
    spec = folder / "kernels" / "here" / "kernel.json"
    spec.parent.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec.write_text(json.dumps({"argv": command, "display_name": "here", "language": "python"}))
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source, id=name) for name, source in CELLS.items()]
    )
    environment = {
        **os.environ,
        "JUPYTER_PATH": str(folder),
        "PYTHONPATH": str(ROOT),
        "IPYTHONDIR": str(folder / "ipython"),
        "JPY_SESSION_NAME": str(folder / "study.ipynb"),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(folder))
        client = NotebookClient(
            notebook,
            timeout=180,
            kernel_name="here",
            allow_errors=True,
            resources={"metadata": {"path": str(folder)}},
        )
        client.execute(env=environment)
    return Executed(notebook)
