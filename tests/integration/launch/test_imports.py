"""The bootstrap gives way: to another sitecustomize, to user files named like ours, to a torch that fails."""

from __future__ import annotations

import re

import pytest

OUR_NAMES = ("compilescope", "msgspec", "zstandard", "click")


def test_existing_sitecustomize_runs_as_before(programs):
    programs.write("lib/sitecustomize.py", "import sys\nsys.customized = __file__\nVALUE = 3\n")
    programs.write(
        "train.py", "import sys, sitecustomize\nprint(sys.customized, sitecustomize.VALUE, sys.path[:2])"
    )
    env = {"PYTHONPATH": str(programs.folder / "lib")}
    plain, recorded = programs.plain("train.py", env=env), programs.recorded("train.py", env=env)
    assert recorded.stdout == plain.stdout != ""
    assert recorded.stderr == plain.stderr == ""


@pytest.mark.parametrize("code", ["raise ValueError('broken')", "import no_such_module", "def f(:"])
def test_failing_sitecustomize_is_reported_as_before(programs, code):
    programs.write("lib/sitecustomize.py", code)
    programs.write("train.py", "import sys\nprint('sitecustomize' in sys.modules)")
    # Our own command is an interpreter too: only one that the program starts may find the broken file.
    programs.write(
        "start.py",
        "import os, subprocess, sys\n"
        "path = filter(None, [os.environ.get('PYTHONPATH'), 'lib'])\n"
        "subprocess.run([sys.executable, 'train.py'], env={**os.environ, 'PYTHONPATH': ':'.join(path)})\n",
    )
    plain, recorded = programs.plain("start.py"), programs.recorded("start.py")
    assert recorded.stdout == plain.stdout == "False\n"
    assert recorded.stderr == plain.stderr != ""


def test_without_a_sitecustomize_none_can_be_imported(programs):
    programs.write("train.py", "import sitecustomize")
    plain, recorded = programs.plain("train.py"), programs.recorded("train.py")
    assert recorded.stderr == plain.stderr
    assert "No module named 'sitecustomize'" in recorded.stderr


@pytest.mark.parametrize(
    "torch",
    ["raise ImportError('libcuda.so.1: no such file')", "1/0", "import no_such_module", "def f(:", None],
)
def test_failing_torch_gives_the_same_traceback(programs, torch):
    programs.write("train.py", "import model\n")
    programs.write("model.py", "import sys\nsys.path[:] = sys.path[:1]\nimport torch\n")
    if torch is not None:
        programs.write("torch.py", torch)
    plain, recorded = programs.plain("train.py"), programs.recorded("train.py")
    assert recorded.returncode == plain.returncode == 1
    assert recorded.stderr == plain.stderr


def test_torch_that_fails_once_is_recorded_at_the_second_try(programs):
    programs.write(
        "torch.py", "import builtins\nif not hasattr(builtins, 'again'):\n    raise ImportError('once')\n"
    )
    programs.write(
        "train.py",
        "import builtins, sys\n"
        "try:\n    import torch\nexcept ImportError:\n    builtins.again = True\n"
        "print(type(sys.meta_path[0]).__name__)\n"
        "import torch\n"
        "print(type(sys.meta_path[0]).__name__)\n",
    )
    first, second = programs.recorded("train.py").stdout.split()
    assert first == "TorchImport"
    assert second != "TorchImport"


def test_looking_for_torch_without_importing_it_changes_nothing(programs):
    programs.write("torch.py", "")
    programs.write(
        "train.py",
        "import sys\nfrom importlib.util import find_spec\n"
        "print(find_spec('torch').origin, 'torch' in sys.modules, type(sys.meta_path[0]).__name__)",
    )
    found = programs.recorded("train.py").stdout.split()
    assert found == [str(programs.folder / "torch.py"), "False", "TorchImport"]


def test_capture_that_cannot_attach_costs_one_line(programs):
    """Without a library of ours the program and what it starts run on."""
    programs.write("torch.py", "")
    programs.write("lib/sitecustomize.py", "import sys\nsys.modules['msgspec'] = None")
    programs.write("two.py", "import torch\nprint('two')")
    programs.write(
        "train.py",
        "import torch, subprocess, sys\nsubprocess.run([sys.executable, 'two.py'])\nprint('end')",
    )
    done = programs.recorded("train.py", env={"PYTHONPATH": "lib"})
    assert (done.returncode, sorted(done.stdout.split())) == (0, ["end", "two"])
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("compilescope: this process is not recorded: ModuleNotFoundError")


@pytest.mark.parametrize("when", ["before", "after"])
def test_user_files_named_like_ours(programs, when):
    """The program gets its own, capture gets ours, and real torch is recorded."""
    for name in OUR_NAMES:
        programs.write(f"{name}.py", f"OWNER = 'the user'\nNAME = {name!r}\n")
    own = f"import {', '.join(OUR_NAMES)}\n"
    look = f"print([m.OWNER for m in ({', '.join(OUR_NAMES)})])\n"
    work = "import torch\ntorch.compile(lambda x: x + 1, backend='eager')(torch.ones(2))\n"
    programs.write("train.py", own + work + look if when == "before" else work + own + look)
    done = programs.recorded("train.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{['the user'] * len(OUR_NAMES)}\n"
    (process,) = (p for p in (programs.folder / "REC").iterdir() if p.is_dir())
    assert re.search(rb'"k":"dynamo_start"', (process / "events.jsonl").read_bytes())


def test_script_named_like_us(programs):
    programs.write("compilescope.py", "import sys\nprint(__name__, sys.argv)")
    assert programs.recorded("compilescope.py", "x").stdout == "__main__ ['compilescope.py', 'x']\n"


def test_user_folder_on_pythonpath_does_not_shadow_our_libraries(programs):
    for name in OUR_NAMES[1:]:
        programs.write(f"{name}.py", "raise SystemExit('the wrong one')")
    programs.write("train.py", "print('ran')")
    done = programs.recorded("train.py", env={"PYTHONPATH": str(programs.folder)})
    assert (done.returncode, done.stdout) == (0, "ran\n")


def test_relative_imports_and_neighbors(programs):
    programs.write("pkg/__init__.py", "")
    programs.write("pkg/model.py", "NAME = 'model'")
    programs.write("pkg/train.py", "from .model import NAME\nprint(NAME, __package__)")
    programs.write("neighbor.py", "X = 1")
    programs.write("train.py", "import neighbor\nfrom .neighbor import X")
    assert programs.recorded("-m", "pkg.train").stdout == "model pkg\n"
    plain, recorded = programs.plain("train.py"), programs.recorded("train.py")
    assert recorded.stderr == plain.stderr
    assert "attempted relative import" in recorded.stderr
