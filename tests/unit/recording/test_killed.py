"""SIGKILL at random moments: every record whose ``record`` returned is there, with its payload."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from compilescope.recording import open_recording

_KILLS = 50
_PROGRAM = """
import json, mmap, os, random, signal, struct, sys, time
from pathlib import Path
from compilescope.recording.writer import Writer

root, kills = Path(sys.argv[1]), int(sys.argv[2])
page = mmap.mmap(-1, 8 * kills)
writer = Writer(root, {"argv": []})

def write_until_killed(slot):
    n = 0
    while True:
        size = (7 * n) % 5000 + (60_000 if n % 50 == 0 else 0)
        text = f"{slot}/{n} " + "payload of a compile " * (size // 20)
        writer.record("artifact", {"m": {"n": n, "pad": "p" * (n % 900)}}, c=(n, 0, 0, 0), payload=text)
        n += 1
        struct.pack_into("q", page, 8 * slot, n)

pids = []
for slot in range(kills):
    pid = os.fork()
    if pid == 0:
        write_until_killed(slot)
    time.sleep(random.uniform(0.002, 0.06))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    pids.append(pid)
counts = [struct.unpack_from("q", page, 8 * slot)[0] for slot in range(kills)]
print(json.dumps(list(zip(pids, counts))))
"""


def test_fifty_kills_lose_no_complete_record(tmp_path: Path) -> None:
    root = tmp_path / "r"
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(root), str(_KILLS)], capture_output=True, text=True, check=True
    )
    written: dict[int, int] = dict(json.loads(done.stdout))
    assert len(written) == _KILLS
    by_pid = {}
    for process in open_recording(root).processes:
        records = [record for record in process.records() if record.k == "artifact"]
        by_pid[process.head["pid"]] = len(records)
        for n, record in enumerate(records):
            assert record.m["n"] == n
            text = process.text(record.p)
            assert text is not None
            assert f"/{n} " in text[:20]
        assert {damage.kind for damage in process.damage} <= {"torn-line"}
        assert not process.complete
    assert sum(written.values()) > 500
    for pid, count in written.items():
        assert by_pid.get(pid, 0) in (count, count + 1)
