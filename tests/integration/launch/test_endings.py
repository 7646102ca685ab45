"""However the program ends: its own exit status, its own output, and a run.json that says so."""

from __future__ import annotations

import re

import pytest

ENDINGS = {
    "falls off the end": ("print('done')", 0),
    "exit 3": ("import sys; sys.exit(3)", 3),
    "exit 256": ("import sys; sys.exit(256)", 0),
    "exit -1": ("import sys; sys.exit(-1)", 255),
    "exit with a message": ("import sys; sys.exit('no data')", 1),
    "exception": ("def f():\n    raise ValueError('ü')\nf()", 1),
    "chained exception": ("try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise KeyError('x') from e", 1),
    "syntax error": ("def f(:\n", 1),
    "os._exit": ("import os; print('x', flush=True); os._exit(9)", 9),
    "keyboard interrupt raised": ("raise KeyboardInterrupt", 130),
    "abort": ("import os; os.abort()", 134),
    "killed": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137),
    "segmentation fault": ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 139),
    "terminated": ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 143),
    "real-time signal": ("import os; os.kill(os.getpid(), 40)", 168),
    "replaced by exec": ("import os, sys; os.execv('/bin/sh', ['sh', '-c', 'exit 5'])", 5),
    "failing atexit": ("import atexit; atexit.register(lambda: 1/0)", 0),
    "atexit order": ("import atexit\nfor i in range(3): atexit.register(print, i)", 0),
    "thread outlives main": ("import threading\nthreading.Timer(0.1, print, ['late']).start()", 0),
    "closed streams": ("import sys, os\nsys.stderr.close(); sys.stdout.close(); os.close(1); os.close(2)", 0),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_ending(programs, name):
    code, status = ENDINGS[name]
    programs.write("train.py", code)
    plain = programs.plain("train.py")
    recorded = programs.recorded("train.py")
    assert recorded.returncode == status
    assert recorded.returncode == (plain.returncode if plain.returncode >= 0 else 128 - plain.returncode)
    assert (recorded.stdout, addresses_cut(recorded.stderr)) == (plain.stdout, addresses_cut(plain.stderr))
    ended = programs.run_json
    assert ended["exit_status"] == status
    assert (ended["signal"] is not None) == (plain.returncode < 0)
    assert ended["ended_ns"] >= ended["started_ns"]


def addresses_cut(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", text)


def test_run_json_names_what_was_run(programs):
    programs.write("train.py", "")
    programs.recorded("train.py", "--lr", "3", env={"RANK": "0", "TORCH_LOGS": "+dynamo"})
    facts = programs.run_json
    assert facts["command"] == ["python", "train.py", "--lr", "3"]
    assert facts["target"] == {"kind": "script", "name": "train.py"}
    assert facts["cwd"] == str(programs.folder)
    assert {"RANK", "TORCH_LOGS"} <= set(facts["env"])
    assert "+dynamo" not in str(facts)


def test_run_json_is_there_while_the_program_runs(programs):
    programs.write("train.py", "import json; print(json.load(open('REC/run.json'))['exit_status'])")
    assert programs.recorded("train.py").stdout == "None\n"


def test_signal_is_named(programs):
    programs.write("train.py", "import os; os.kill(os.getpid(), 9)")
    programs.recorded("train.py")
    assert programs.run_json["signal"] == "SIGKILL"


def test_fresh_cache_is_empty_private_and_removed(programs):
    programs.write(
        "train.py",
        "import os\n"
        "for name in ('TORCHINDUCTOR_CACHE_DIR', 'TRITON_CACHE_DIR'):\n"
        "    os.makedirs(os.environ[name]); print(os.environ[name])\n",
    )
    done = programs.recorded("--fresh-cache", "train.py", env={"TORCHINDUCTOR_CACHE_DIR": "/warm"})
    folders = done.stdout.split()
    assert len(set(folders)) == 2
    assert "/warm" not in folders
    assert not any(programs.folder.joinpath(f).parent.exists() for f in folders)
    assert "TORCHINDUCTOR_CACHE_DIR" in programs.run_json["notes"][0]


def test_existing_recording_is_kept_without_f(programs):
    programs.write("train.py", "print('ran')")
    programs.recorded("train.py")
    argv = [word for word in programs.recorded_argv("train.py") if word != "-f"]
    refused = programs._run(argv)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "REC exists" in refused.stderr
    assert "-f" in refused.stderr
