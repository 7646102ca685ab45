"""CPU seconds and peak memory to read a 258 MB TORCH_TRACE log, and recordings of 10,000 compiles.

    python tests/benchmarks/recording/bench_reading.py [--rounds 3] [--rich]

Each measurement is a process of its own; the best of the rounds is printed with the worst beside it. Exits 1
if the log takes more than 2.5 CPU-s or 200 MB to a printed summary, or listing the compiles of the recording
more than 1 CPU-s or 150 MB. ``--rich``: a recording of 1 GB as well, each payload of which is another one;
how many bytes of its payloads are read is printed too.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from big_log import write_big_log

from compilescope.recording import Writer, open_recording

_LIMIT_CPU_S = 2.5
_LIMIT_MB = 200
_LIST_LIMIT_CPU_S = 1.0
_LIST_LIMIT_MB = 150
_NOISE_BYTES = 7000
_PARSED = ("dynamo_graph_break_reason", "recompile_reasons", "dynamo_error")  # by a summary
_COUNTED = (
    "import sys; from compilescope.recording.source import FileSource as F\n"
    "read, pread = {}, F.pread\n"
    "def counted(self, count, offset):\n"
    "    part = pread(self, count, offset)\n"
    "    name = self.name.rpartition('/')[2]; read[name] = read.get(name, 0) + len(part)\n"
    "    return part\n"
    "F.pread = counted\n"
)
_READ = "print({name: f'{n / 1e6:.1f} MB' for name, n in read.items()}, file=sys.stderr)"
_OPEN = f"{_COUNTED}from compilescope.recording import open_recording; open_recording(sys.argv[1])\n{_READ}"
_SUMMARY = (
    f"{_COUNTED}from pathlib import Path; from compilescope.analysis import build_report\n"
    "from compilescope.recording import open_recording; from compilescope.views import text\n"
    f"print(text.render(build_report(open_recording(Path(sys.argv[1])), detail=False)))\n{_READ}"
)
_LIST = (
    "import sys; from compilescope.recording import open_recording\n"
    "for p in open_recording(sys.argv[1]).processes:\n"
    "    print(sum(1 for _ in p.records(('dynamo_start', 'compilation_metrics'))))"
)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rich", action="store_true")
    parser.add_argument("--make", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.make:
        log, recording, noise_bytes = arguments.make
        return write_big_recording(Path(log), Path(recording), 10_000, int(noise_bytes))
    rounds = arguments.rounds
    with tempfile.TemporaryDirectory() as folder:
        log, recording = Path(folder) / "big.log", Path(folder) / "big.compilescope"
        compiles = write_big_log(log, 258_000_000)
        print(f"log: {log.stat().st_size / 1e6:.0f} MB, {compiles} compiles")
        measure("list the log", [sys.executable, "-c", _LIST, str(log)], rounds)
        ours = [sys.executable, "-m", "compilescope", "summary"]
        cpu_s, peak_mb = measure("summary of the log", [*ours, str(log)], rounds)
        make(log, recording)
        list_s, list_mb = measure("list the recording", [sys.executable, "-c", _LIST, str(recording)], rounds)
        measure("summary of the recording", [*ours, str(recording)], rounds)
        if arguments.rich:
            rich = Path(folder) / "rich.compilescope"
            make(log, rich, _NOISE_BYTES)
            for name, code in (("open", _OPEN), ("list", _LIST), ("summary of", _SUMMARY)):
                measure(f"{name} the rich one", [sys.executable, "-c", code, str(rich)], rounds)
    too_slow = cpu_s > _LIMIT_CPU_S or list_s > _LIST_LIMIT_CPU_S
    return int(too_slow or peak_mb > _LIMIT_MB or list_mb > _LIST_LIMIT_MB)


def make(log: Path, recording: Path, noise_bytes: int = 0) -> None:
    """In a process of its own: a child's peak memory starts at that of its parent."""
    made = [sys.executable, __file__, "--make", str(log), str(recording), str(noise_bytes)]
    subprocess.run(made, check=True)
    size_mb = sum(path.stat().st_size for path in recording.rglob("*") if path.is_file()) / 1e6
    print(f"recording: {size_mb:.0f} MB, 10000 compiles")


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


def write_big_recording(log: Path, root: Path, compiles: int, noise_bytes: int = 0) -> int:
    """The log's compiles again and again under other frame ids, through the real writer.

    With ``noise_bytes`` every payload ends in that many hex digits of its own: none is met twice, and they
    compress to half their size.
    """
    noise = random.Random(7)
    [process] = open_recording(log).processes
    source = [
        (record, process.text(record.p)) for record in process.records() if record.c or record.k == "phases"
    ]
    writer = Writer(root, {})
    stacks = [record.m.get(name) or () for record, _ in source for name in ("stack", "user_stack")]
    numbers = {frame["filename"] for stack in stacks for frame in stack if "filename" in frame}
    for number in sorted(numbers):
        writer.record("name", {"f": number, "s": process.file(number)})
    written = copies = 0
    while written < compiles:
        for record, text in source:
            fields = record.x | ({"m": record.m} if record.m else {})
            c = record.c and (None if record.c[0] is None else record.c[0] + 100_000 * copies, *record.c[1:])
            if noise_bytes and text is not None and record.m.get("name") not in _PARSED:
                text += "\n" + noise.randbytes(noise_bytes // 2).hex()
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
