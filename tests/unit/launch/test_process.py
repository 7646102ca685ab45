"""In processes of their own: forking and waiting for signals suffers from a test worker's threads."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.stderr == ""
    return done.stdout


RUN = "import os, sys\nfrom compilescope.launch.process import run_to_end\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise SystemExit(3)", "Ended(exit_status=3, signal=None)"),
        ("import os; os.kill(os.getpid(), 9)", "Ended(exit_status=137, signal='SIGKILL')"),
        ("import os; os.kill(os.getpid(), 35)", "Ended(exit_status=163, signal='signal 35')"),
    ],
)
def test_how_it_ended(code, expected):
    assert python(f"{RUN}print(run_to_end(['-c', {code!r}], os.environ))") == f"{expected}\n"


def test_environment_is_exactly_the_given_one():
    code = "import os; print(sorted(os.environ))"
    assert "['ONLY']" in python(
        f"{RUN}run_to_end(['-E', '-c', {code!r}], {{'ONLY': '1', 'LC_CTYPE': 'C'}})"
    ).replace("'LC_CTYPE', ", "")


def test_our_own_signals_are_as_before_and_nothing_is_left_behind():
    out = python(
        f"{RUN}import signal\n"
        "before = signal.pthread_sigmask(signal.SIG_BLOCK, [])\n"
        "files = os.listdir('/proc/self/fd')\n"
        "run_to_end(['-c', ''], os.environ)\n"
        "print(before == signal.pthread_sigmask(signal.SIG_BLOCK, []))\n"
        "print(files == os.listdir('/proc/self/fd'))\n"
        "try:\n    os.waitpid(-1, 0)\nexcept ChildProcessError:\n    print('no children')\n"
    )
    assert out == "True\nTrue\nno children\n"


def test_interpreter_that_cannot_be_started():
    out = python(
        f"{RUN}sys.executable = '/no/such/python'\n"
        "try:\n    run_to_end([], os.environ)\nexcept OSError as e:\n    print(e.strerror)\n"
    )
    assert out == "No such file or directory\n"


def test_a_thread_that_takes_our_sigchld_only_delays():
    out = python(
        f"{RUN}import threading, time\n"
        "threading.Thread(target=time.sleep, args=(3,), daemon=True).start()\n"
        "print(run_to_end(['-c', ''], os.environ).exit_status)\n"
    )
    assert out == "0\n"


def test_witness_sees_the_group_and_not_us():
    out = python(
        "import os, signal\n"
        "from compilescope.launch.group import GroupWitness\n"
        "os.setpgid(0, 0)\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})\n"
        "witness = GroupWitness()\n"
        "os.kill(os.getpid(), signal.SIGUSR1)\n"
        "alone = witness.saw(signal.SIGUSR1)\n"
        "os.killpg(0, signal.SIGUSR1)\n"
        "print(alone, *(witness.saw(n) for n in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR1)))\n"
        "witness.close()\n"
    )
    assert out == "False False True False\n"


def test_witness_ends_when_its_maker_is_killed():
    reader, writer = os.pipe()
    code = (
        "import os, signal\n"
        "from compilescope.launch.group import GroupWitness\n"
        "GroupWitness()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code], pass_fds=[writer], timeout=30, check=False)
    os.close(writer)
    assert os.read(reader, 1) == b""  # the witness inherited the other end: it is gone too
    os.close(reader)
