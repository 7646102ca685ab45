"""What programs do to a writer: fork, threads, signals, closed descriptors. Each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

from compilescope.recording import Recording, open_recording

_PRELUDE = """
import os, signal, sys, threading, time
from pathlib import Path
from compilescope.recording.writer import Writer
root = Path(sys.argv[1])
writer = Writer(root, {"argv": []}, on_failure=lambda text: print("FAILED", text))
"""


def run(tmp_path: Path, program: str) -> tuple[Recording, str]:
    code = _PRELUDE + textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(tmp_path / "r")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return open_recording(tmp_path / "r"), done.stdout


def test_a_forked_child_has_a_recording_of_its_own(tmp_path: Path) -> None:
    recording, _ = run(
        tmp_path,
        """
        writer.file_id("/train.py")
        writer.record("a", payload="x" * 500)
        if os.fork() == 0:
            writer.record("b", {"m": {"file": writer.file_id("/train.py")}}, payload="x" * 501)
            writer.close()
            os._exit(0)
        os.wait()
        if os.fork() == 0:
            os._exit(0)
        os.wait()
        writer.record("c")
        writer.close()
        """,
    )
    parent, child = recording.processes
    assert [record.k for record in parent.records()] == ["head", "name", "a", "c", "end"]
    assert [record.k for record in child.records()] == ["head", "name", "b", "end"]
    assert child.head["ppid"] == parent.head["pid"]
    assert child.file(0) == "/train.py"
    assert [child.text(record.p) for record in child.records() if record.p] == ["x" * 501]
    assert recording.damage == parent.damage == child.damage == []


def test_a_fork_while_another_thread_writes_does_not_block_the_child(tmp_path: Path) -> None:
    recording, _ = run(
        tmp_path,
        """
        stop = threading.Event()
        def write():
            while not stop.is_set():
                writer.record("busy", payload=os.urandom(40_000).hex())
        # Python 3.12 warns of a fork with threads, which is the point here.
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        thread = threading.Thread(target=write)
        thread.start()
        for _ in range(10):
            if os.fork() == 0:
                signal.alarm(20)
                writer.record("child")
                writer.close()
                os._exit(0)
            assert os.wait()[1] == 0
        stop.set()
        thread.join()
        writer.close()
        """,
    )
    kinds = [[record.k for record in process.records()] for process in recording.processes]
    assert sum(k == ["head", "child", "end"] for k in kinds) == 10
    assert all(process.damage == [] for process in recording.processes)


def test_threads_write_whole_lines(tmp_path: Path) -> None:
    recording, _ = run(
        tmp_path,
        """
        together = threading.Barrier(4)  # one that ended would hand its ident to the next
        def write(number):
            together.wait()
            for i in range(300):
                writer.record("a", {"m": {"i": i, "who": number}}, payload=f"{number} {i} " * 300)
        threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        writer.close()
        """,
    )
    [process] = recording.processes
    records = [record for record in process.records() if record.k == "a"]
    assert len(records) == 1200
    assert len({record.th for record in records}) == 4
    for record in records:
        assert process.text(record.p) == f"{record.m['who']} {record.m['i']} " * 300
    assert process.damage == []


def test_a_signal_handler_that_records_neither_blocks_nor_mixes_lines(tmp_path: Path) -> None:
    recording, out = run(
        tmp_path,
        """
        fired = 0
        def handler(signum, frame):
            global fired
            fired += 1
            writer.record("signal", payload="s" * 2000)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        end = time.monotonic() + 0.5
        n = 0
        while time.monotonic() < end:
            writer.record("a", payload=f"{n}" * 500)
            n += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        writer.close()
        print(fired, n)
        """,
    )
    fired, n = map(int, out.split())
    [process] = recording.processes
    kinds = [record.k for record in process.records()]
    assert (kinds.count("signal"), kinds.count("a")) == (fired, n)
    assert process.damage == []


def test_an_interrupt_passes_through_and_the_next_record_is_whole(tmp_path: Path) -> None:
    recording, _ = run(
        tmp_path,
        """
        interrupts = 0
        end = time.monotonic() + 0.5
        def handler(signum, frame):
            if "recording" in frame.f_code.co_filename:
                raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003)
        while time.monotonic() < end:
            try:
                writer.record("a", {"m": {"pad": "p" * 900}}, payload=os.urandom(999))
            except KeyboardInterrupt:
                interrupts += 1
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        assert interrupts
        writer.close()
        """,
    )
    [process] = recording.processes
    for record in process.records():
        assert record.p is None or process.text(record.p) is not None
    assert {damage.kind for damage in process.damage} <= {"bad-line"}
    assert process.complete


def test_a_program_that_closes_all_descriptors_gets_none_of_our_bytes(tmp_path: Path) -> None:
    recording, out = run(
        tmp_path,
        """
        writer.record("before")
        os.closerange(3, 64)
        own = [os.open(root / f"own{i}", os.O_WRONLY | os.O_CREAT) for i in range(8)]
        assert writer.record("after", payload="x" * 2000)
        writer.close()
        print(sum((root / f"own{i}").stat().st_size for i in range(8)))
        """,
    )
    assert out == "0\n"
    kinds = [[record.k for record in process.records()] for process in recording.processes]
    assert kinds == [["head", "before"], ["head", "after", "end"]]
