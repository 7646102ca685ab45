"""Frames of the user's code that Dynamo looked at and left to the interpreter."""

from __future__ import annotations

from compilescope.analysis.index import Index, original_name
from compilescope.analysis.report import Skip
from compilescope.model.clipped import clipped

_MAX_REASON = 200


def skips(index: Index) -> list[Skip]:
    """One per function, in order of time. Library code, and the rest of a split function, are left out."""
    rows: dict[tuple[str, int, str], Skip] = {}
    for conversion in index.process.conversions:
        code = conversion.code
        is_rest = original_name(code.function)[1] is not None
        if conversion.outcome != "skipped" or is_rest or index.paths.is_library(code.file):
            continue
        reason = clipped((conversion.reason or "").strip().split("\n", 1)[0], _MAX_REASON) or None
        row = Skip(code.function, index.paths.show(code.file), code.line, reason, index.process.id)
        rows.setdefault((code.file, code.line, code.function), row)
    return list(rows.values())
