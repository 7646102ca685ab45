"""Processes that the program starts: pools, pickling, subprocesses; all of it as under plain ``python``."""

from __future__ import annotations

import json

import pytest

POOL = """
import multiprocessing, pickle, sys

class Sample:
    def __init__(self, n):
        self.n = n

def square(sample):
    return Sample(sample.n ** 2)

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2) as pool:
        print([s.n for s in pool.map(square, [Sample(n) for n in range(4)])])
    print(pickle.loads(pickle.dumps(Sample(3))).n, Sample.__module__)
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pool_and_pickled_objects_of_main(programs, method):
    programs.write("train.py", POOL)
    plain, recorded = (run("train.py", method) for run in (programs.plain, programs.recorded))
    assert recorded.stdout == plain.stdout == "[0, 1, 4, 9]\n3 __main__\n"
    assert recorded.stderr == plain.stderr == ""


def test_pool_of_a_module(programs):
    programs.write("pkg/__init__.py", "")
    programs.write("pkg/train.py", POOL)
    assert programs.recorded("-m", "pkg.train", "spawn").stdout == "[0, 1, 4, 9]\n3 __main__\n"


def test_started_interpreters_inherit_the_recording(programs):
    programs.write(
        "train.py",
        "import os, subprocess, sys\n"
        "child = 'import os, sys; print(type(sys.meta_path[0]).__name__, os.environ[sys.argv[1]])'\n"
        "argv = [sys.executable, '-c', child, 'COMPILESCOPE_ROOT_PID']\n"
        "print(subprocess.check_output(argv, text=True), os.getpid())\n",
    )
    finder, root, pid = programs.recorded("train.py").stdout.split()
    assert (finder, root) == ("TorchImport", pid)


@pytest.mark.parametrize("option", ["-E", "-I", "-S"])
def test_started_interpreters_that_shut_us_out_run_plainly(programs, option):
    programs.write(
        "train.py",
        f"import subprocess, sys\nsubprocess.run([sys.executable, {option!r}, '-c', 'print(1)'])\n",
    )
    done = programs.recorded("train.py")
    assert (done.stdout, done.stderr) == ("1\n", "")


@pytest.mark.parametrize(
    "words",
    [
        ["site-packages/torch/_inductor/compile_worker/__main__.py", "--kind=fork"],
        ["site-packages/torch/_inductor/__autotune_main__.py"],
    ],
)
def test_workers_of_inductor_and_what_they_start_are_left_alone(programs, words):
    programs.write(
        words[0],
        "import os, subprocess, sys\n"
        "look = 'import os, sys; print(type(sys.meta_path[0]).__name__, sys.argv[-1] in os.environ)'\n"
        "exec(look)\n"
        "subprocess.run([sys.executable, '-c', look, sys.argv[-1]])\n",
    )
    programs.write(
        "train.py",
        f"import subprocess, sys\nsubprocess.run([sys.executable, *{words}, 'COMPILESCOPE_RECORDING'])\n",
    )
    seen = programs.recorded("train.py").stdout.split()
    assert seen[1::2] == ["False", "False"]
    assert "TorchImport" not in seen


def test_run_inside_a_run_records_into_its_own_folder(programs):
    programs.write(
        "train.py",
        "import json, os\n"
        "names = ('COMPILESCOPE_RECORDING', 'PYTHONPATH', 'COMPILESCOPE_ROOT_PID')\n"
        "print(json.dumps([os.environ[n] for n in names] + [os.getpid()]))\n",
    )
    argv = [*programs.recorded_argv()[:-2], "INNER", "-f", "train.py"]
    programs.write("outer.py", f"import subprocess\nsubprocess.run({argv})\n")
    folder, path, root, pid = json.loads(programs.recorded("outer.py").stdout)
    assert folder == str(programs.folder / "INNER")
    assert path.count("_bootstrap") == 1
    assert root == str(pid)


def test_background_process_may_outlive_the_program(programs):
    programs.write("train.py", "import subprocess\nsubprocess.Popen(['sleep', '30'], stdout=-3, stderr=-3)\n")
    assert programs.recorded("train.py").returncode == 0
