"""Sizes in the middle of a range that its code is not for: even ones, where compiling assumed an odd size.

Compilers decide by the hint they are given, for instance whether a size is a multiple of 8, and the answer
becomes a condition of the artifact. What fails it is served by a second artifact, made for such a size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from compilescope.bucketing._torch import hint_of
from compilescope.bucketing.guards import violation
from compilescope.bucketing.plan import Job

SEARCH = 128
"""How far from the hint such a size is looked for: conditions of alignment repeat sooner."""

Conditions = Sequence[str]  # Python over the arguments ``a``; all must hold


def gap(job: Job, covered: Sequence[Conditions], reach: Mapping[Any, str], shape_env: Any) -> Job | None:
    """A part for the size nearest to the hint that ``job`` asks for and none of ``covered`` serves.

    ``covered`` are the conditions of the range's parts so far, ``reach`` says how to read each symbol. None
    when there is no such size near the hint, or when it cannot be told.
    """
    hints = {symbol: _hint(job, symbol, shape_env) for symbol in job.spans}
    for symbol, (low, high) in job.spans.items():
        hint = hints[symbol]
        if hint is None or symbol not in reach:
            continue
        for size in _around(hint, low, high):
            sizes = {s: value for s, value in {**hints, symbol: size}.items() if value is not None}
            values = {reach[s]: value for s, value in sizes.items() if s in reach}
            is_left_out = all(_holds(each, values) is False for each in covered)
            if is_left_out and violation(shape_env, sizes) is None:
                origin = job.split_from or job.label
                label = f"{low}..{'' if high is None else high}@{size}"
                return Job(label, job.kind, job.sizes, {**job.hints, symbol: size}, job.spans, origin)
    return None


def _hint(job: Job, symbol: Any, shape_env: Any) -> int | None:
    return job.hints[symbol] if symbol in job.hints else hint_of(shape_env, symbol)


def _around(hint: int, low: int, high: int | None) -> Iterator[int]:
    for distance in range(1, SEARCH + 1):
        for size in (hint - distance, hint + distance):
            if low <= size and (high is None or size <= high):
                yield size


def _holds(conditions: Conditions, values: Mapping[str, int]) -> bool | None:
    """None where a condition is about more than ``values``, or cannot be evaluated."""
    found: bool | None = True
    for term in conditions:
        text = term
        for accessor, value in values.items():
            text = text.replace(accessor, f"({value})")
        known = None if "a[" in text else _evaluated(text)
        if known is False:
            return False
        found = None if known is None else found
    return found


def _evaluated(text: str) -> bool | None:
    """Of a guard that torch's own printer wrote, with numbers for its symbols."""
    try:
        return bool(eval(text, {"math": math}))
    except Exception:
        return None
