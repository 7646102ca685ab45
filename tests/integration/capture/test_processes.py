"""Forks, workers, kills, exits: a process has its own recording, a crash loses two seconds of counts."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import Any

import pytest

from compilescope.recording import open_recording

pytestmark = pytest.mark.xdist_group("capture_processes")

_COMPILED = """
import torch
def double(x):
    return x * 2
run = torch.compile(double, backend="eager", dynamic=False)
x = torch.ones(3)
"""


def _calls(process: Any) -> dict[int, int]:
    last = {serial: n for r in process.records() if r.k == "runs" for serial, n, _ in r.x.get("g", ())}
    return {serial: n for serial, n in last.items() if n}


def _by_pid(recorded: Any) -> dict[int, Any]:
    return {process.head["pid"]: process for process in recorded.processes}


def _kinds(process: Any) -> list[str]:
    return [r.k for r in process.records()]


def test_a_forked_child_counts_on_its_own(scripts: Any) -> None:
    done = scripts.run(
        _COMPILED
        + """
run(x), run(x)
pid = os.fork()
if pid == 0:
    run(x)
    run(torch.ones(4))
    capture.detach()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
run(x)
print(os.getpid(), pid)
"""
    )
    assert (done.returncode, done.stderr) == (0, "")
    parent_pid, child_pid = map(int, done.stdout.split())
    processes = _by_pid(scripts.recorded)
    assert set(processes) == {parent_pid, child_pid}
    assert _calls(processes[parent_pid]) == {0: 3}
    assert _calls(processes[child_pid]) == {0: 1, 1: 1}
    graphs = [r for r in processes[child_pid].records() if r.k == "graph"]
    assert {r.m["g"]: r.m.get("inherited", False) for r in graphs} == {0: True, 1: False}
    assert all(process.complete for process in processes.values())


def test_an_idle_forked_child_leaves_no_recording(scripts: Any) -> None:
    code = _COMPILED + "run(x)\npid = os.fork()\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0)\n"
    assert scripts.run(code).returncode == 0
    assert len(scripts.recorded.processes) == 1


def test_what_was_refused_before_a_fork_is_counted_and_named_in_the_child(scripts: Any) -> None:
    code = """
import torch
torch._dynamo.config.recompile_limit = 1
run = torch.compile(lambda x, n: x + n, backend="eager", dynamic=False)
x = torch.ones(2)
for n in range(4):
    run(x, n)
pid = os.fork()
if pid == 0:
    for n in range(10, 15):
        run(x, n)
    capture.detach()
    os._exit(0)
os.waitpid(pid, 0)
print(os.getpid(), pid)
"""
    done = scripts.run(code)
    parent_pid, child_pid = map(int, done.stdout.split())
    processes = _by_pid(scripts.recorded)

    def eager(process: Any) -> int:
        return sum(
            {serial: n for r in process.records() if r.k == "runs" for serial, n in r.x.get("e", ())}.values()
        )

    assert (eager(processes[parent_pid]), eager(processes[child_pid])) == (3, 5)
    named = [r.m["name"] for r in processes[child_pid].records() if r.k == "limit"]
    assert named == ["<lambda>"]


@pytest.mark.parametrize(
    "method",
    ["fork", *(pytest.param(method, marks=pytest.mark.slow) for method in ("spawn", "forkserver"))],
)
def test_multiprocessing(method: str, scripts: Any) -> None:
    code = f"""
import multiprocessing, torch

def double(x):
    return x * 2

def work(queue):
    if not capture.is_attached():
        capture.attach(Path(sys.argv[1]))
    run = torch.compile(double, backend="eager")
    queue.put((os.getpid(), [run(torch.ones(2)).tolist() for _ in range(3)]))

if __name__ == "__main__":
    context = multiprocessing.get_context("{method}")
    queue = context.Queue()
    workers = [context.Process(target=work, args=(queue,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    told = dict(queue.get(timeout=100) for _ in workers)
    for worker in workers:
        worker.join()
    assert all(values == [[2.0, 2.0]] * 3 for values in told.values())
    assert [worker.exitcode for worker in workers] == [0, 0]
    print(*told)
"""
    done = scripts.run(code, env={"OMP_NUM_THREADS": "1"})
    assert (done.returncode, done.stderr) == (0, "")
    processes = _by_pid(scripts.recorded)
    for pid in map(int, done.stdout.split()):
        assert sum(_calls(processes[pid]).values()) == 3
        assert processes[pid].complete


def test_data_loader_workers_are_left_alone(scripts: Any) -> None:
    code = (
        _COMPILED
        + """
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self):
        return 6
    def __getitem__(self, i):
        return torch.full((3,), float(i))

if __name__ == "__main__":
    total = sum(run(batch).sum() for batch in DataLoader(Numbers(), num_workers=2))
    print(total.item())
"""
    )
    done = scripts.run(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "90.0\n", "")
    (process,) = scripts.recorded.processes
    assert sum(_calls(process).values()) == 6


def test_threads_compiling_at_once(scripts: Any) -> None:
    code = """
import linecache, threading, torch
# torch 2.11 built for CUDA crashes by itself where a thread compiles first and there is no GPU. It also puts
# a frame of its own around functions whose source it cannot find: they would share one recompile limit.
torch.compile(lambda x: x + 1, backend="aot_eager")(torch.ones(2))
def make(n):
    scope, source, path = {}, f"def f{n}(x):\\n    return x * {n}\\n", f"/user/f{n}.py"
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    exec(compile(source, path, "exec"), scope)
    return torch.compile(scope[f"f{n}"], backend="aot_eager")
def work(n):
    run = make(n)
    for size in (2, 3, 3):
        assert torch.equal(run(torch.ones(size)), torch.full((size,), float(n)))
threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 7)]
[t.start() for t in threads]
[t.join() for t in threads]
"""
    done = scripts.run(code)
    assert (done.returncode, done.stderr) == (0, "")
    recorded = scripts.recorded
    assert recorded.lost() == {}
    assert sum(recorded.calls()) == 19
    graphs = [r.m["g"] for r in recorded.records("graph")]
    assert len(graphs) == len(set(graphs)) == 13
    by_thread = {r.th for r in recorded.records("phases")}
    assert len(by_thread) == 7
    compiled = {name for name, outcome in recorded.outcomes() if outcome == "compiled"}
    assert compiled == {"<lambda>", *(f"f{n}" for n in range(1, 7))}


def test_counts_are_complete_after_the_programs_own_exit_handlers(scripts: Any) -> None:
    code = _COMPILED + "import atexit\natexit.register(lambda: run(x))\nrun(x)\nraise SystemExit(3)\n"
    done = scripts.run(code)
    assert (done.returncode, done.stderr) == (3, "")
    (process,) = scripts.recorded.processes
    assert _calls(process) == {0: 2}
    assert [r.x["how"] for r in process.records() if r.k == "end"] == ["atexit"]


@pytest.mark.parametrize(
    ("ending", "status"), [("os._exit(4)", 4), pytest.param("os.abort()", -6, marks=pytest.mark.slow)]
)
def test_an_abrupt_end_loses_counts_only(ending: str, status: int, scripts: Any) -> None:
    done = scripts.run(_COMPILED + f"run(x)\n{ending}\n")
    assert done.returncode == status
    (process,) = scripts.recorded.processes
    assert not process.complete
    assert {"head", "dynamo_start", "graph", "convert", "compilation_metrics"} <= set(_kinds(process))
    assert process.damage == []


def test_a_kill_loses_at_most_two_seconds_of_counts(scripts: Any) -> None:
    command = scripts.command(
        _COMPILED
        + """
import time
n, told = 0, time.monotonic()
while True:
    run(x)
    n += 1
    if time.monotonic() - told > 0.05:
        told = time.monotonic()
        print(time.time_ns(), n, flush=True)
"""
    )
    program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=scripts.environment())
    assert program.stdout is not None
    lines = [program.stdout.readline()]
    started = time.monotonic()
    while time.monotonic() - started < 3:
        lines.append(program.stdout.readline())
    os.kill(program.pid, signal.SIGKILL)
    killed_ns = time.time_ns()
    rest, _ = program.communicate()
    lines += [line for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    said = [tuple(map(int, line.split())) for line in lines]
    (process,) = open_recording(scripts.folder / "recording").processes
    last = [r for r in process.records() if r.k == "runs"][-1]
    assert killed_ns - last.t < 2.5e9  # type: ignore[operator]
    ((_, counted, _),) = last.x["g"]
    earlier = [n for at_ns, n in said if at_ns <= last.t]  # type: ignore[operator]
    later = [n for at_ns, n in said if at_ns > last.t]  # type: ignore[operator]
    assert counted >= max(earlier)
    assert not later or counted <= later[0] + 1


def test_a_trace_folder_of_torchs_own_is_filled_as_well(scripts: Any) -> None:
    folder = scripts.folder / "trace"
    done = scripts.run(_COMPILED + "run(x)\n", env={"TORCH_TRACE": str(folder)})
    assert done.returncode == 0
    (log,) = folder.iterdir()
    events = log.read_text()
    assert '"dynamo_start"' in events
    assert '"compilation_metrics"' in events
    assert events.count('"dynamo_start"') == len(scripts.recorded.records("dynamo_start"))


def test_a_deleted_working_directory_is_no_reason_to_stop(scripts: Any) -> None:
    code = f"""
import os, sys, tempfile
from pathlib import Path
import compilescope.capture as capture
{_COMPILED}
run(x)
os.chdir(tempfile.mkdtemp())
os.rmdir(os.getcwd())
capture.attach(Path("relative"))
capture.detach()
capture.attach(Path(sys.argv[1]))
print(run(torch.ones(2)).tolist())
"""
    done = scripts.run(code, attach=False)
    assert (done.returncode, done.stdout) == (0, "[2.0, 2.0]\n")
    (process,) = scripts.recorded.processes
    assert process.head["versions"]["torch"]
