"""CUDA graphs: what was recorded, recorded again, and skipped with torch's reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from compilescope.model.inductor.values import CudagraphFunction, Cudagraphs, CudagraphSkip, SourceLine

_SKIP = re.compile(r"^skipping cudagraphs? due to (.+?)(?:\. Found from|\n|$)", re.S)
_PLACE = re.compile(r'File "([^"\n]+)", line (\d+), in ([^\n]+)(?:\n\s*([^\n]+))?')
MAX_SIZES = 16
RECORDING_PHASE = "CUDAGraphNode.record"


def skip(text: str) -> tuple[str, SourceLine | None] | None:
    """(reason, the user's line) from a warning of torch's cudagraphs loggers; None if it is not a skip."""
    found = _SKIP.search(text)
    if not found:
        return None
    places = _PLACE.findall(text)
    if not places:
        return found.group(1).strip(), None
    file, line, function, code = places[-1]
    return found.group(1).strip(), SourceLine(file, int(line), function.strip(), code.strip())


def skips(texts: Iterable[str]) -> tuple[CudagraphSkip, ...]:
    """Each reason and line once, with how often torch said so, most frequent first."""
    counts: dict[tuple[str, SourceLine | None], int] = {}
    for text in texts:
        found = skip(text)
        if found is not None:
            counts[found] = counts.get(found, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    return tuple(CudagraphSkip(reason, n, line) for (reason, line), n in ordered)


def functions(records: Iterable[Mapping[str, Any]]) -> tuple[CudagraphFunction, ...]:
    """From `cudagraph_record` records, in order of first recording."""
    found: dict[tuple[Any, Any], list[Mapping[str, Any]]] = {}
    for m in records:
        found.setdefault((m.get("manager"), m.get("function")), []).append(m)
    return tuple(_function(rows) for rows in found.values())


def _function(rows: list[Mapping[str, Any]]) -> CudagraphFunction:
    compile_id, mode = rows[0].get("compile"), rows[0].get("mode")
    return CudagraphFunction(
        compile=compile_id if isinstance(compile_id, str) else None,
        mode=mode if isinstance(mode, str) else None,
        recordings=len(rows),
        sizes=tuple(_sizes(row.get("inputs")) for row in rows[:MAX_SIZES]),
    )


def _sizes(inputs: Any) -> str:
    """``8x512, 4``: the inputs' shapes; numbers stand as they are."""
    words = []
    for value in inputs if isinstance(inputs, list) else ():
        words.append(
            "x".join(map(str, value)) if isinstance(value, list) else "?" if value is None else str(value)
        )
    return ", ".join(words)


def cudagraphs(
    graphs: Iterable[Mapping[str, Any]],
    records: Iterable[Mapping[str, Any]],
    warnings: Iterable[str],
    recordings_s: Iterable[float],
) -> Cudagraphs:
    """``graphs``: `fx_graph` records; ``recordings_s``: durations of phase ``CUDAGraphNode.record``."""
    described, durations = list(graphs), list(recordings_s)
    recorded = functions(records)
    disabled = [m.get("cudagraphs_disabled") for m in described]
    return Cudagraphs(
        enabled=any(bool(m.get("cudagraphs")) for m in described) or bool(recorded or durations),
        disabled_reason=next((reason for reason in disabled if isinstance(reason, str)), None),
        skips=skips(warnings),
        functions=recorded,
        recordings=max(len(durations), sum(f.recordings for f in recorded)),
        recording_s=sum(durations),
    )
