"""Runs corpus scripts under ``compilescope run`` and compares the reports with their known diagnosis.

python tests/corpus/corpus_live.py [NAME...]      compare, print every disagreement, exit 1 if there is one
python tests/corpus/corpus_live.py --store        also store the packed recordings as fixtures
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from corpus_compare import compare, load_expected

from compilescope.analysis import build_report
from compilescope.recording import open_recording, pack_recording

CORPUS = Path(__file__).parents[2] / "fixtures" / "corpus"
SCRIPTS = CORPUS / "scripts"
EXPECTED = load_expected(CORPUS / "expected.json")
TIMEOUT_S = 300


def programs() -> list[str]:
    """Names of all programs, each fault followed by its fixed twin."""
    return [name + suffix for name in EXPECTED for suffix in ("", "_fixed")]


def record(program: str, folder: Path, *, scripts: Path = SCRIPTS) -> Path:
    """Run one program from ``scripts`` into a recording below ``folder``. Its output is dropped."""
    recording = folder / f"{program}.compilescope"
    env = {k: v for k, v in os.environ.items() if k != "TORCH_COMPILE_JOB_ID"}
    command = [sys.executable, "-m", "compilescope", "run", "-f", "-q", "-o", str(recording), f"{program}.py"]
    subprocess.run(command, cwd=scripts, env=env, capture_output=True, timeout=TIMEOUT_S, check=False)
    return recording


def disagreements(program: str, recording: Path) -> list[str]:
    name, fixed = program.removesuffix("_fixed"), program.endswith("_fixed")
    return compare(build_report(open_recording(recording)), EXPECTED[name], fixed=fixed)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--scripts", type=Path, default=SCRIPTS, help="where the programs are run from")
    options = parser.parse_args()
    failed = 0
    for program in programs():
        if options.names and not any(program.startswith(name) for name in options.names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            recording = record(program, Path(folder), scripts=options.scripts)
            wrong = disagreements(program, recording)
            if options.store:
                destination = CORPUS / "recordings" / f"{program}.zip"
                destination.unlink(missing_ok=True)
                pack_recording(recording, destination)
        print(program, "ok" if not wrong else "", flush=True)
        for line in wrong:
            print("   ", line)
        failed += bool(wrong)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
