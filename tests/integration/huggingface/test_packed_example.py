"""Packed-sequence fine-tuning with the Trainer: a ladder of two rungs learns what eager learns."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")
pytest.importorskip("accelerate")

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "docs" / "examples" / "hf_packed.py"


def rows_of(folder: Path, *options: str) -> dict[str, Any]:
    out = folder / "figures.json"
    command = [sys.executable, "-W", "ignore", str(SCRIPT), "--json", str(out), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return {row["mode"]: row for row in json.loads(out.read_text())["rows"]}


def test_the_ladder_learns_what_eager_learns_with_a_compile_for_each_rung(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, "--inner", "aot_eager", "--modes", "eager,ladder", "--steps", "6")
    eager, ladder = rows["eager"], rows["ladder"]
    assert len(eager["loss"]) == len(ladder["loss"]) == 6
    assert eager["loss"] == pytest.approx(ladder["loss"], abs=2e-3)
    assert eager["loss"][-1] < eager["loss"][0]
    assert (ladder["graphs"], ladder["compiles"]) == (1, 2)
    assert eager["padding"] == 0
    assert 0 < ladder["padding"] < 0.3
