"""CUDA graphs that were skipped, or recorded for every size: facts that only torch's warnings hold."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from compilescope.advice.cause import Cause, Place, Telling, finding, with_cost
from compilescope.advice.facts import Facts, Rows
from compilescope.advice.finding import Amount, Finding

_SKIPPED = re.compile(r"skipping cudagraphs (?:due to|because) (.+)", re.IGNORECASE | re.DOTALL)
_SIZES = re.compile(r"We have observed (\d+) distinct sizes")
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
    skipped: dict[tuple[str, Place], int] = defaultdict(int)
    sizes = 0
    for text in facts.warnings:
        if found := _SKIPPED.search(text):
            skipped[(_reason(found[1]), _place(facts, text))] += 1
        if grown := _SIZES.search(text):
            sizes = max(sizes, int(grown[1]))
    for (reason, place), times in skipped.items():
        yield _skip(facts, reason, place, times)
    if sizes:
        yield _rerecorded(facts, sizes)


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


def _rerecorded(facts: Facts, sizes: int) -> Finding:
    telling = Telling(
        rule="cudagraph_rerecorded",
        fix_kind="mark_dynamic_or_pad",
        summary=f"CUDA graphs were recorded for {sizes} input sizes, one each",
        fix="pad inputs to a few sizes, or set torch._inductor.config.triton.cudagraph_skip_dynamic_graphs",
        subject="sizes",
        confidence="medium",
        could_be_wrong="sizes that come back often are worth a recording each",
    )
    found = finding(facts, Cause(), Place(None, None, None), telling, "medium")
    return with_cost(found, {"cudagraph_sizes": Amount(sizes, "counted", "torch's warning")})


def _reason(text: str) -> str:
    return re.split(r"\.? ?Found from|\n", text, maxsplit=1)[0].strip().rstrip(".")[:200]


def _place(facts: Facts, text: str) -> Place:
    """The innermost user line that torch names, with the file as the report writes it."""
    frames = _FRAME.findall(text)
    if not frames:
        return Place(None, None, None)
    path, line, function = frames[-1]
    file = next((name for name in facts.sources.files() if path == name or path.endswith(f"/{name}")), path)
    return Place(file, int(line), function, facts.sources.line(file, int(line)))
