"""Tampers with real recordings, logs and archives, and runs the commands on them, until the time is up.

    python tests/benchmarks/recording/fuzz_commands.py [--minutes 10] [--seed N]

Prints each seed with what a command did and may not: a traceback, an undocumented status, markup or control
characters in the terminal or the page, a file nobody asked for, too much time. Exits 1 if there was one.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "unit" / "recording"))
from commands import findings


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**9)
    arguments = parser.parse_args()
    end_s, seed, bad = time.monotonic() + 60 * arguments.minutes, arguments.seed, 0
    while time.monotonic() < end_s:
        seed += 1
        faulthandler.dump_traceback_later(300, exit=True)
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = list(findings(seed, Path(folder)))
            except Exception:
                found = [traceback.format_exc()]
        bad += bool(found)
        for text in found:
            print(f"seed {seed}: {text}", flush=True)
    print(f"{seed - arguments.seed} inputs from seed {arguments.seed}: {bad} with findings")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
