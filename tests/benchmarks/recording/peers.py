"""A 258 MB TORCH_TRACE log through CompileScope, tlparse 0.4.3 and tlhub 0.3.5: CPU seconds, peak memory.

    python tests/benchmarks/recording/peers.py [--folder DIR]

The peers are installed from the package index into environments of their own below DIR, kept for the
next time. tlparse writes its HTML report; of tlhub only the ingestion is measured, which its server waits
for; CompileScope is measured with its summary and with its report.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from bench_reading import run
from big_log import write_big_log

_INGEST = (
    "import sys; from pathlib import Path; from tlhub.trace_parser import ingest_trace_dir\n"
    "ingest_trace_dir('run', Path(sys.argv[1]), Path(sys.argv[2]))"
)
_PEERS = ("tlparse==0.4.3", "tlhub==0.3.5")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "compilescope-peers")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "trace" / "big.log"
    log.parent.mkdir(exist_ok=True)
    if not log.exists():
        write_big_log(log, 258_000_000)
    ours = [sys.executable, "-m", "compilescope"]
    tlparse, tlhub = (install(folder, peer) for peer in _PEERS)
    ingest = [str(tlhub / "python"), "-c", _INGEST, str(log.parent), str(folder / "tlhub")]
    commands = {
        "compilescope summary": [*ours, "summary", str(log)],
        "compilescope report": [*ours, "report", str(log), "-o", str(folder / "report.html"), "-f"],
        "tlparse 0.4.3": [
            str(tlparse / "tlparse"),
            str(log),
            "-o",
            str(folder / "tlparse"),
            "--overwrite",
            "--no-browser",
        ],
        "tlhub 0.3.5": ingest,
    }
    for name, command in commands.items():
        try:
            cpu_s, peak_mb = run(command)
        except SystemExit as error:
            print(f"{name:24} failed: {error}")
        else:
            print(f"{name:24} {cpu_s:6.2f} CPU-s  {peak_mb:6.0f} MB", flush=True)


def install(folder: Path, requirement: str) -> Path:
    """The folder of the peer's commands, in an environment of its own."""
    name = requirement.partition("==")[0]
    bin_folder = folder / f"{name}-venv" / "bin"
    if not (bin_folder / name).exists():
        venv.create(bin_folder.parent, with_pip=True)
        subprocess.run([bin_folder / "pip", "install", "-q", requirement], check=True)
    return bin_folder


if __name__ == "__main__":
    main()
