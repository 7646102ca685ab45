"""CUDA graphs: what was recorded, recorded again, and skipped with torch's reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from compilescope.model.inductor.values import (
    CudagraphFunction,
    Cudagraphs,
    CudagraphSkip,
    GraphKey,
    SourceLine,
)

_SKIP = re.compile(r"^skipping cudagraphs? due to (.+?)(?:\. Found from|\n|$)", re.S)
_PLACE = re.compile(r'File "([^"\n]+)", line (\d+), in ([^\n]+)(?:\n\s*([^\n]+))?')
_SIZES = re.compile(r"We have observed (\d+) distinct sizes")
Recorded = tuple["GraphKey | None", Mapping[str, Any]]
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


def functions(
    records: Iterable[Recorded], warm_ups: Iterable[Recorded] = ()
) -> tuple[CudagraphFunction, ...]:
    """From `cudagraph_record` and `cudagraph_warm_up` records, in order of first recording.

    torch makes a new function for each size of a graph with dynamic shapes: they are counted together.
    """
    found: dict[tuple[GraphKey | None, str | None], list[Mapping[str, Any]]] = {}
    records = list(records)
    for key, m in records:
        found.setdefault((key, _mode(m)), []).append(m)
    warmed = Counter((key, _mode(m)) for key, m in warm_ups)
    growth = _growth(records)
    return tuple(
        CudagraphFunction(
            key,
            mode,
            len(rows),
            tuple(dict.fromkeys(_sizes(m.get("inputs")) for m in rows)),
            warmed[key, mode] if warmed else None,
            growth.get((key, mode)),
        )
        for (key, mode), rows in found.items()
    )


def _mode(m: Mapping[str, Any]) -> str | None:
    mode = m.get("mode")
    return mode if isinstance(mode, str) else None


def _pool(m: Mapping[str, Any]) -> tuple[str, int] | None:
    held = m.get("pool_bytes")
    return (str(m.get("pool")), held) if isinstance(held, int) and not isinstance(held, bool) else None


def _growth(records: Iterable[Recorded]) -> dict[tuple[GraphKey | None, str | None], int]:
    """Against the measurement before it, of the same pool. Warm-ups in between allocate there too."""
    before: dict[str, int] = {}
    found: dict[tuple[GraphKey | None, str | None], int] = {}
    for key, m in records:
        pool = _pool(m)
        if pool is not None:
            name, held = pool
            grown = held - before.get(name, 0)
            found[key, _mode(m)] = found.get((key, _mode(m)), 0) + grown
            before[name] = held
    return found


def _held(records: Iterable[Recorded]) -> int | None:
    """The last measurement of each pool."""
    last = dict(pool for _, m in records if (pool := _pool(m)) is not None)
    return sum(last.values()) if last else None


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
    records: Iterable[Recorded],
    warnings: Iterable[str],
    recordings_s: Iterable[float],
    disabled: Iterable[str] = (),
    warm_ups: Iterable[Recorded] = (),
) -> Cudagraphs:
    """``graphs``: `fx_graph` records; ``recordings_s``: durations of phase ``CUDAGraphNode.record``;
    ``disabled``: reasons from the metrics of compiles.
    """
    described, durations, records = list(graphs), list(recordings_s), list(records)
    warnings = list(warnings)
    recorded = functions(records, warm_ups)
    reasons = [*(m.get("cudagraphs_disabled") for m in described), *disabled]
    return Cudagraphs(
        enabled=any(bool(m.get("cudagraphs")) for m in described) or bool(recorded or durations),
        disabled_reason=next((reason for reason in reasons if isinstance(reason, str)), None),
        skips=skips(warnings),
        functions=recorded,
        recordings=max(len(durations), sum(f.recordings for f in recorded)),
        recording_s=sum(durations),
        pool_bytes=_held(records),
        warned_sizes=max((int(n) for text in warnings for n in _SIZES.findall(text)), default=None),
    )
