"""CUDA graphs that were skipped, or recorded for every size."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from compilescope.advice.cause import Cause, Place, Telling, finding, with_cost
from compilescope.advice.facts import Facts, Rows
from compilescope.advice.finding import Amount, Confidence, Finding
from compilescope.analysis.report import CudagraphFunction, Cudagraphs, CudagraphSkip
from compilescope.units import count

_SKIPPED = re.compile(r"skipping cudagraphs (?:due to|because) (.+)", re.IGNORECASE | re.DOTALL)
_SIZES = re.compile(r"We have observed (\d+) distinct sizes")
_MANY = 4  # recordings of one graph
_WORTH = 20  # replays for each recording: fewer did not pay for it
_FRAME = re.compile(r'File "([^"\n]+)", line (\d+), in (\S+)')
_FIXES = (  # (pattern of torch's reason, fix_kind, what to change)
    (
        re.compile(r"mutat", re.IGNORECASE),
        "avoid_input_mutation",
        "return the new value instead of writing into an input, or make the tensor a parameter or buffer",
    ),
    (
        re.compile(r"cpu device|multiple devices|device", re.IGNORECASE),
        "move_to_one_device",
        "keep every tensor and every op of the graph on the GPU: move scalars and masks there once",
    ),
    (
        re.compile(r"dynamic shape|symbolic", re.IGNORECASE),
        "mark_dynamic_or_pad",
        "pad to a few sizes and compile them with static shapes",
    ),
)
_OTHER_FIX = ("move_out_of_region", "leave the operation named in the reason out of the compiled function")


def cuda_graphs(facts: Facts, _rows: Rows) -> Iterator[Finding]:
    """From what was recorded of each graph; where there is none of it, from torch's warnings alone."""
    skipped: dict[tuple[str, Place], int] = defaultdict(int)
    for row in facts.report.cudagraphs:
        for skip in row.skips:
            skipped[_reason(skip.reason), _skip_place(facts, skip)] += skip.count
        reasons = {_reason(skip.reason) for skip in row.skips}
        if row.disabled_reason and _reason(row.disabled_reason) not in reasons:
            skipped[_reason(row.disabled_reason), Place(None, None, None)] += 1
    recorded = [(row, f) for row in facts.report.cudagraphs for f in row.functions if _drifts(f)]
    texts = facts.warnings if not facts.report.cudagraphs else ()
    for text in texts:
        if found := _SKIPPED.search(text):
            skipped[_reason(found[1]), _place(facts, text)] += 1
    for (reason, place), times in skipped.items():
        yield _skip(facts, reason, place, times)
    for row, function in recorded:
        yield _recorded(facts, row, function)
    sizes = max((int(found[1]) for text in facts.warnings if (found := _SIZES.search(text))), default=0)
    if sizes and not recorded:
        yield _rerecorded(facts, sizes)


def _drifts(function: CudagraphFunction) -> bool:
    """A few sizes that come back are what CUDA graphs are for."""
    rarely = function.replays is None or function.replays < _WORTH * function.recordings
    return function.recordings >= _MANY and len(function.sizes) > 1 and rarely


def _skip(facts: Facts, reason: str, place: Place, times: int) -> Finding:
    known = ((kind, fix) for pattern, kind, fix in _FIXES if pattern.search(reason))
    fix_kind, fix = next(known, _OTHER_FIX)
    telling = Telling(
        rule="cudagraph_skipped",
        fix_kind=fix_kind,
        summary=f"{place.function or 'a graph'}: CUDA graphs were asked for and skipped: {reason}",
        fix=fix,
        subject=re.sub(r"\d+", "N", reason),
        confidence="medium",
        could_be_wrong="if the GPU is never idle, launches cost nothing and CUDA graphs would not help",
    )
    found = finding(facts, Cause(), place, telling, "medium")
    return with_cost(found, {"cudagraph_skips": Amount(times, "counted", "warnings of torch")})


def _recorded(facts: Facts, row: Cudagraphs, function: CudagraphFunction) -> Finding:
    place = Place(function.file, function.line, function.function)
    replays = "" if function.replays is None else f" and replayed {count(function.replays, 'time')}"
    telling = _drifting(
        f"{place.function or 'a graph'}: recorded {function.recordings} times as a CUDA graph, for "
        f"{len(function.sizes)} input sizes or more{replays}",
        "high" if function.replays is not None else "medium",
        notes=("sizes: " + "; ".join(function.sizes[:8]),),
    )
    cost = {"cudagraph_recordings": Amount(function.recordings, "counted", "recordings of this graph")}
    if function.pool_growth_bytes:
        how = "growth of the memory pool up to its recordings"
        cost["pool_bytes"] = Amount(function.pool_growth_bytes, "measured", how)
    if row.recording_s and row.recordings:
        spent = round(row.recording_s * function.recordings / row.recordings, 6)
        how = "this graph's share of all recordings, by their number"
        cost["recording_s"] = Amount(spent, "estimated", how)
    return with_cost(finding(facts, Cause(), place, telling, "medium"), cost)


def _rerecorded(facts: Facts, sizes: int) -> Finding:
    telling = _drifting(f"CUDA graphs were recorded for {sizes} input sizes, one each", "medium")
    found = finding(facts, Cause(), Place(None, None, None), telling, "medium")
    return with_cost(found, {"cudagraph_sizes": Amount(sizes, "counted", "torch's warning")})


def _drifting(summary: str, confidence: Confidence, notes: tuple[str, ...] = ()) -> Telling:
    return Telling(
        rule="cudagraph_rerecorded",
        fix_kind="mark_dynamic_or_pad",
        summary=summary,
        fix="pad inputs to a few sizes, or set torch._inductor.config.triton.cudagraph_skip_dynamic_graphs",
        subject="sizes",
        confidence=confidence,
        could_be_wrong="sizes that come back often are worth a recording each",
        notes=notes,
    )


def _reason(text: str) -> str:
    return re.split(r"\.? ?Found from|\n", text, maxsplit=1)[0].strip().rstrip(".")[:200]


def _skip_place(facts: Facts, skip: CudagraphSkip) -> Place:
    code = facts.sources.line(skip.file, skip.line) if skip.file and skip.line else None
    return Place(skip.file, skip.line, skip.function, code)


def _place(facts: Facts, text: str) -> Place:
    """The innermost user line that torch names, with the file as the report writes it."""
    frames = _FRAME.findall(text)
    if not frames:
        return Place(None, None, None)
    path, line, function = frames[-1]
    file = next((name for name in facts.sources.files() if path == name or path.endswith(f"/{name}")), path)
    return Place(file, int(line), function, facts.sources.line(file, int(line)))
