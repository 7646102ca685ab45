"""``python tests/gpu/record_fixtures.py OUT [PROGRAM ...]``: record on this GPU and pack into OUT.

All programs, where none is named. For each OUT gets ``NAME.zip``, ``NAME.out.txt`` and ``NAME.err.txt``; a
program that fails leaves ``NAME.failed.txt``. They become ``fixtures/inductor-h200``; the tests beside this
file read them.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from recorded import PROGRAMS, run  # noqa: E402 - found beside this file

from compilescope.recording import pack_recording  # noqa: E402

_KEPT = re.compile(r"^(?:AUTOTUNE |  \w+ [\d.]+ ms )|skipping cudagraph|^\S*W\d{4} ")


def main(out: Path, programs: Sequence[str]) -> int:
    """How many programs failed. The first takes as long as the others together: they run beside it."""
    out.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(2) as pool:
        halves = list(pool.map(lambda programs: _record(programs, out), (programs[:1], programs[1:])))
    return sum(halves)


def _record(programs: Sequence[str], out: Path) -> int:
    failed = 0
    for program in programs:
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            try:
                recorded = run(program, Path(folder))
            except Exception as error:  # the other programs are still worth recording
                (out / f"{program}.failed.txt").write_text(str(error), encoding="utf-8")
                print(f"{program}: failed, see {program}.failed.txt", flush=True)
                failed += 1
                continue
            packed = Path(folder) / "packed.zip"
            pack_recording(recorded.recording, packed)
            shutil.copyfile(packed, out / f"{program}.zip")
            (out / f"{program}.out.txt").write_text(recorded.out, encoding="utf-8")
            (out / f"{program}.err.txt").write_text(_shortened(recorded.err), encoding="utf-8")
        size_kb = (out / f"{program}.zip").stat().st_size / 1000
        print(f"{program}: {size_kb:.0f} kB in {time.monotonic() - started:.0f} s", flush=True)
    return failed


def _shortened(err: str) -> str:
    """Tables of the autotuner and warnings: without the configurations, which the recording has."""
    lines = (line.split(" ACC_TYPE=")[0] for line in err.splitlines() if _KEPT.search(line))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:] or PROGRAMS))
