"""What one record costs the program that compiles: microseconds of CPU, and bytes, per kind of record.

    python tests/benchmarks/recording/bench_writing.py

Prints the best of five rounds: the machine is rarely alone with us.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from compilescope.recording import Writer

_RECORDS = 5000
_ROUNDS = 5


def main() -> None:
    metrics = {f"metric_{n}": n * 1.5 if n % 3 else None for n in range(150)}
    rows = [[f"phase_{n % 20}", n * 100, 50, n % 6, {"compile_id": "3/1"}] for n in range(64)]
    code = "def call(args):\n    buf0 = empty_strided_cpu((64, 64), (64, 1), torch.float32)\n" * 100
    cases: dict[str, Callable[[Writer, int], object]] = {
        "small event": lambda w, n: w.record(
            "artifact", {"m": {"name": "x", "encoding": "json"}}, c=(n, 0, 0, 0)
        ),
        "64 phases": lambda w, n: w.record("phases", {"t0": n, "rows": rows}),
        "metrics": lambda w, n: w.record("compilation_metrics", {"m": metrics | {"n": n}}, c=(n, 0, 0, 0)),
        "payload, new": lambda w, n: w.record("code", payload=f"{n}\n{code}"),
        "payload, known": lambda w, n: w.record("code", payload=code, md5="0" * 32),
    }
    for name, write in cases.items():
        cpu_us, size_bytes = min(_measure(write) for _ in range(_ROUNDS))
        print(f"{name:16} {cpu_us:7.2f} us  {size_bytes:7.0f} bytes a record")


def _measure(write: Callable[[Writer, int], object]) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        writer = Writer(Path(folder) / "r", {})
        writer.record("warm")
        start_s = time.thread_time()
        for n in range(_RECORDS):
            write(writer, n)
        cpu_us = (time.thread_time() - start_s) / _RECORDS * 1e6
        writer.close()
        size_bytes = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        return cpu_us, size_bytes / _RECORDS


if __name__ == "__main__":
    main()
