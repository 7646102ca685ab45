"""Signals reach the program once, the parent outlives them and reports how the program ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

# Says when it is ready, then counts what it gets until it is told to go by SIGTERM.
COUNTER = """
import signal, sys, time
got = []
for name in ("SIGINT", "SIGUSR1", "SIGUSR2", "SIGHUP", "SIGQUIT"):
    signal.signal(getattr(signal, name), lambda n, f: got.append(signal.Signals(n).name))
def leave(n, f):
    print(*sorted(got), flush=True)
    sys.exit(7)
signal.signal(signal.SIGTERM, leave)
print("ready", flush=True)
while True:
    time.sleep(0.01)
"""
CLEANS_UP = """
import time
try:
    print("ready", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    time.sleep(0.2)
    print("cleaned up", flush=True)
    raise
"""


@pytest.fixture
def started(programs):
    processes = []

    def start(code: str, **options) -> subprocess.Popen[str]:
        programs.write("train.py", code)
        process = programs.start("train.py", stderr=subprocess.PIPE, **options)
        processes.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in processes:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        finish(process)
        process.stdout.close()
        process.stderr.close()


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    """The rest of what it writes. Not communicate(): that forgets what readline() has read ahead."""
    out, err = process.stdout.read(), process.stderr.read()
    process.wait(timeout=20)
    return out, err


def test_signals_sent_to_the_parent_are_forwarded_once(started):
    process = started(COUNTER)
    for name in ("SIGINT", "SIGUSR1", "SIGUSR2", "SIGHUP", "SIGQUIT"):
        process.send_signal(getattr(signal, name))
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    out, _ = finish(process)
    assert out == "SIGHUP SIGINT SIGQUIT SIGUSR1 SIGUSR2\n"
    assert process.returncode == 7


def test_signals_sent_to_the_group_arrive_once_each_time(started):
    process = started(COUNTER)
    for _ in range(3):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.1)
    process.send_signal(signal.SIGUSR1)
    time.sleep(0.05)
    os.killpg(process.pid, signal.SIGTERM)
    out, _ = finish(process)
    assert (out, process.returncode) == ("SIGINT SIGINT SIGINT SIGUSR1\n", 7)


def test_group_signals_in_quick_succession_are_never_doubled(started):
    process = started(COUNTER)
    for _ in range(30):
        os.killpg(process.pid, signal.SIGINT)
        os.killpg(process.pid, signal.SIGHUP)
        time.sleep(0.003)
    time.sleep(0.2)
    process.send_signal(signal.SIGUSR1)
    time.sleep(0.05)
    process.terminate()
    got = finish(process)[0].split()
    assert 1 <= got.count("SIGINT") <= 30
    assert 1 <= got.count("SIGHUP") <= 30
    assert got.count("SIGUSR1") == 1


def test_nothing_of_ours_outlives_the_program(started):
    process = started(COUNTER)
    process.terminate()
    finish(process)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_termination_without_a_handler(started, programs):
    process = started("import time\nprint('ready', flush=True)\ntime.sleep(60)")
    process.terminate()
    finish(process)
    assert process.returncode == 143
    assert programs.run_json["signal"] == "SIGTERM"


def test_interrupt_of_the_whole_group(started, programs):
    process = started(CLEANS_UP)
    os.killpg(process.pid, signal.SIGINT)
    out, err = finish(process)
    assert (out, process.returncode) == ("cleaned up\n", 130)
    assert err.count("KeyboardInterrupt\n") == 1
    assert "compilescope" not in err
    assert programs.run_json["exit_status"] == 130


def test_program_that_handles_the_interrupt_keeps_its_status(started):
    process = started(
        "import time\n"
        "try:\n    print('ready', flush=True)\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    raise SystemExit(4)"
    )
    process.send_signal(signal.SIGINT)
    finish(process)
    assert process.returncode == 4


def test_signals_ignored_by_the_caller_stay_ignored(started):
    process = started(
        "import signal\nprint('ready', flush=True)\n"
        "print([signal.getsignal(n) is signal.SIG_IGN for n in (signal.SIGINT, signal.SIGHUP)])",
        preexec_fn=lambda: [signal.signal(n, signal.SIG_IGN) for n in (signal.SIGINT, signal.SIGHUP)],
    )
    out, _ = finish(process)
    assert out == "[True, True]\n"


def test_program_survives_a_killed_parent(started, programs):
    process = started("import time\nprint('ready', flush=True)\ntime.sleep(0.5)\nopen('done', 'w')")
    process.kill()
    process.wait()
    deadline = time.monotonic() + 20
    while not (programs.folder / "done").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_stopping_and_continuing_the_group(started):
    process = started("import time\nprint('ready', flush=True)\ntime.sleep(0.3)\nprint('on')")
    os.killpg(process.pid, signal.SIGTSTP)
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGCONT)
    out, _ = finish(process)
    assert (out, process.returncode) == ("on\n", 0)
