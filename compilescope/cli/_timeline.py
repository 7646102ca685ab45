"""A recording as a trace, by itself or inside one that torch.profiler exported."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from compilescope.errors import UsageError

_HINT = "it takes what torch.profiler's export_chrome_trace wrote, .json or .json.gz"


def trace_text(recording: Path, beside: Path | None) -> str:
    """Chrome trace JSON. Raises UsageError when ``beside`` is not a trace."""
    from compilescope.advice import examine
    from compilescope.analysis.timeline import timeline
    from compilescope.model import load
    from compilescope.model.timeline import spans
    from compilescope.recording import open_recording
    from compilescope.recording.process import gc_paused
    from compilescope.views import perfetto

    with gc_paused():
        opened = open_recording(recording)
        run = load(opened)
        report, _ = examine(run)
        processes = timeline(run, spans(opened), report)
    if beside is None:
        return perfetto.render(processes)
    try:
        return perfetto.merged(processes, _read(beside))
    except ValueError as problem:
        raise UsageError(f"{beside} is not a trace: {problem}", hint=_HINT) from problem


def _read(path: Path) -> dict[str, Any]:
    try:
        raw = path.read_bytes()
        found = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    except (OSError, ValueError, EOFError, RecursionError) as problem:
        raise UsageError(f"cannot read the trace {path}: {problem}", hint=_HINT) from problem
    if not isinstance(found, dict):
        raise UsageError(f"{path} is not a trace", hint=_HINT)
    return found
