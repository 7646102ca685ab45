"""Help is instant, and reading it loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from compilescope.cli._group import COMMANDS

HEAVY = (
    "torch",
    "pandas",
    "numpy",
    "plotly",
    "jinja2",
    "msgspec",
    "zstandard",
    "compilescope.analysis",
    "compilescope.capture",
    "compilescope.recording",
    "compilescope.model",
    "compilescope.views",
)
LOADED = f"""
import sys
from compilescope.cli import main
try:
    main()
except SystemExit as end:
    loaded = [name for name in {HEAVY} if name in sys.modules]
    print("LOADED", loaded, end.code)
"""
MOST_MODULES = 230


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], *([c, "--help"] for c in COMMANDS), ["run", "no.py"]]
)
def test_nothing_heavy_is_loaded(words):
    done = subprocess.run([sys.executable, "-c", LOADED, *words], capture_output=True, text=True, check=False)
    status = 2 if words == ["run", "no.py"] else 0
    assert done.stdout.splitlines()[-1] == f"LOADED [] {status}"


def test_help_loads_few_modules():
    """Python starts with some 30; the time that the rest takes is in docs/benchmarks.md."""
    counted = f"{LOADED}\nprint(len(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", counted, "--help"], capture_output=True, text=True, check=True
    )
    assert int(done.stdout.splitlines()[-1]) < MOST_MODULES
