"""CPU seconds and peak memory to read a 258 MB TORCH_TRACE log, and a recording of 10,000 compiles.

    python tests/benchmarks/recording/bench_reading.py [--rounds 3]

Each measurement is a process of its own; the best of the rounds is printed with the worst beside it. Exits 1
if the log takes more than 2.5 CPU-s or 200 MB to a printed summary.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from big_log import write_big_log

from compilescope.recording import Writer, open_recording

_LIMIT_CPU_S = 2.5
_LIMIT_MB = 200
_LIST = (
    "import sys; from compilescope.recording import open_recording\n"
    "for p in open_recording(sys.argv[1]).processes:\n"
    "    print(sum(1 for _ in p.records(('dynamo_start', 'compilation_metrics'))))"
)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--make", nargs=2, type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.make:
        return write_big_recording(*arguments.make, 10_000)
    rounds = arguments.rounds
    with tempfile.TemporaryDirectory() as folder:
        log, recording = Path(folder) / "big.log", Path(folder) / "big.compilescope"
        compiles = write_big_log(log, 258_000_000)
        print(f"log: {log.stat().st_size / 1e6:.0f} MB, {compiles} compiles")
        measure("list the log", [sys.executable, "-c", _LIST, str(log)], rounds)
        summary = [sys.executable, "-m", "compilescope", "summary", str(log)]
        cpu_s, peak_mb = measure("summary of the log", summary, rounds)
        # In a process of its own: a child's peak memory starts at that of its parent.
        subprocess.run([sys.executable, __file__, "--make", str(log), str(recording)], check=True)
        size_mb = sum(path.stat().st_size for path in recording.rglob("*") if path.is_file()) / 1e6
        print(f"recording: {size_mb:.0f} MB, 10000 compiles")
        measure("list the recording", [sys.executable, "-c", _LIST, str(recording)], rounds)
    return int(cpu_s > _LIMIT_CPU_S or peak_mb > _LIMIT_MB)


def measure(name: str, command: list[str], rounds: int) -> tuple[float, float]:
    results = sorted(run(command) for _ in range(rounds))
    (best_s, peak_mb), (worst_s, _) = results[0], results[-1]
    print(f"{name:24} {best_s:5.2f} CPU-s (worst {worst_s:.2f})  {peak_mb:5.0f} MB")
    return best_s, peak_mb


def run(command: list[str]) -> tuple[float, float]:
    """CPU seconds and peak resident megabytes of a command that must succeed."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{command} exited {child.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def write_big_recording(log: Path, root: Path, compiles: int) -> int:
    """The log's compiles again and again under other frame ids, through the real writer."""
    [process] = open_recording(log).processes
    source = [
        (record, process.text(record.p)) for record in process.records() if record.c or record.k == "phases"
    ]
    writer = Writer(root, {})
    numbers = {f["filename"] for record, _ in source for f in record.m.get("stack", ()) if "filename" in f}
    for number in sorted(numbers):
        writer.record("name", {"f": number, "s": process.file(number)})
    written = copies = 0
    while written < compiles:
        for record, text in source:
            fields = record.x | ({"m": record.m} if record.m else {})
            c = record.c and (None if record.c[0] is None else record.c[0] + 100_000 * copies, *record.c[1:])
            writer.record(
                record.k, fields, c=c, ca=record.ca, payload=text, payload_kind=record.m.get("name")
            )
            written += record.k == "dynamo_start"
            if written >= compiles:
                break
        copies += 1
    writer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
