"""Asks torch about itself in a process of its own, which may crash or hang without hurting the answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

_PROBE = Path(__file__).with_name("_torch_probe.py")
_PACKAGES = Path(__file__).parents[2]
_PATIENCE_S = 120.0


def ask_torch(patience_s: float = _PATIENCE_S) -> dict[str, str]:
    """What ``_torch_probe`` found: facts by name; ``problem ...`` says why there are no more."""
    environ = dict(os.environ)
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, [environ.get("PYTHONPATH"), str(_PACKAGES)]))
    try:
        # -P: a torch.py in the working directory is not what the person asks about.
        done = subprocess.run(
            [sys.executable, "-P", str(_PROBE)],
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="backslashreplace",
            timeout=patience_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"problem": f"importing torch took longer than {patience_s:.0f} s"}
    return _facts(done)


def _facts(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """One JSON object a line, among whatever torch itself printed."""
    facts: dict[str, str] = {}
    for line in done.stdout.splitlines():
        if line.startswith('{"fact": '):
            fact = json.loads(line)
            facts[fact["fact"]] = fact["is"]
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        facts["problem"] = f"asking torch ended with status {done.returncode}: {last}"
    return facts
