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
CPU_LIMIT_S = 0.100


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], *([c, "--help"] for c in COMMANDS), ["run", "no.py"]]
)
def test_nothing_heavy_is_loaded(words):
    done = subprocess.run([sys.executable, "-c", LOADED, *words], capture_output=True, text=True, check=False)
    status = 2 if words == ["run", "no.py"] else 0
    assert done.stdout.splitlines()[-1] == f"LOADED [] {status}"


def test_help_takes_little_cpu_time():
    """The least of some tries: other processes can only add to it. Interpreter start included."""
    code = (
        "import resource, subprocess, sys\n"
        "argv = [sys.executable, '-m', 'compilescope', '--help']\n"
        "subprocess.run(argv, stdout=subprocess.DEVNULL, check=True)\n"
        "usage = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(usage.ru_utime + usage.ru_stime)"
    )
    tries = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(5)
    ]
    assert min(tries) <= CPU_LIMIT_S


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_that_fits(command, name):
    done = command(name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_overview_lists_every_command_with_a_whole_sentence(command):
    lines = command("--help").stdout.split("Commands:")[1].strip().splitlines()
    assert [line.split()[0] for line in lines] == list(COMMANDS)
    assert all(line.endswith((".", "?")) and not line.endswith("...") for line in lines)


def test_version(command):
    from compilescope import __version__

    assert command("--version").stdout == f"compilescope {__version__}\n"
