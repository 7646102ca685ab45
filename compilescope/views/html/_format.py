"""How values of the report read in the page; every text passes through :func:`finalize`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from compilescope.analysis.worst import always_new
from compilescope.units import visible

_LONGEST_TEXT = 400
_LONGEST_BLOCK = 4000
_CHAIN_ENDS = 4

RESUME = {
    "resumable": "goes on after the line",
    "tail_skipped": "the rest of the function runs eager",
    "frame_skipped": "the whole function runs eager",
}
STATUS_LEVEL = {
    "compiled": "good",
    "graph break": "warn",
    "recompiled": "warn",
    "recompile limit": "bad",
    "failed": "bad",
}

SEVERITY_LEVEL = {"critical": "bad", "high": "bad", "medium": "warn"}


def finalize(value: Any) -> Any:
    """Applied by Jinja to whatever a template prints, before it is escaped."""
    if isinstance(value, Markup):
        return value
    if value is None:
        return Markup('<span class="unknown">unknown</span>')
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    return clip(visible(str(value)), _LONGEST_TEXT)


def clip(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most]}… ({len(text):,} characters)"


def block(text: str) -> Markup:
    """Text of several lines for a ``<pre>``, escaped here since :func:`finalize` would join the lines."""
    return escape(clip(visible(text.replace("\r\n", "\n"), keep="\n"), _LONGEST_BLOCK))


def value(recorded: Any) -> str:
    """A recorded scalar as Python writes it, without quotes around text (which may be a dtype or a size)."""
    if isinstance(recorded, float):
        return f"{recorded:.9g}"
    return "''" if recorded == "" else str(recorded)


def chain(changes: Sequence[Sequence[Any]], ends: int = _CHAIN_ENDS) -> str:
    """[[0, 1], [1, 2]] -> '0 → 1 → 2'; pairs that do not join stay apart; a long middle becomes '…'."""
    runs: list[list[str]] = []
    one_run = bool(changes) and always_new(changes)
    for old, new in changes:
        if not (runs and (one_run or runs[-1][-1] == value(old))):
            runs.append([value(old)])
        runs[-1].append(value(new))
    shown = runs if len(runs) <= 2 * ends else [*runs[:ends], ["…"], *runs[-ends:]]
    return ", ".join(" → ".join(_cut(run, ends)) for run in shown)


def _cut(run: list[str], ends: int) -> list[str]:
    return run if len(run) <= 2 * ends else [*run[:ends], "…", *run[-ends:]]


def oneline(text: str) -> str:
    return " ".join(text.split())


def outcomes(recorded: Any) -> str:
    """{'hit': 1, 'miss': 2} -> '1 hit, 2 miss'"""
    if isinstance(recorded, Mapping):
        return ", ".join(f"{number} {name}" for name, number in sorted(recorded.items()))
    return value(recorded)


def words(slug: str) -> str:
    return slug.replace("_", " ")


def split_path(path: str) -> tuple[str, str]:
    """Folder with its slash, and name: the page shows the folder fainter."""
    head, slash, tail = path.rpartition("/")
    return head + slash, tail


def snippet(sources: Mapping[str, str], file: str | None, line: int | None) -> list[tuple[int, str]]:
    """(number, text) of the lines around ``line``; empty when the source was not recorded."""
    if file is None or line is None or file not in sources:
        return []
    lines = sources[file].split("\n")
    first = max(line - 4, 0)
    return list(enumerate(lines[first : line + 3], first + 1)) if 0 < line <= len(lines) else []


def shape(sizes: list[Any] | None) -> str:
    """['s77', 64] -> '[s77, 64]'; nothing for what has no shape."""
    return "" if sizes is None else "[" + ", ".join(map(str, sizes)) + "]"


def plain(number: int | None) -> str | None:
    """A line number or an id: no thousands separators."""
    return None if number is None else str(number)


def whole(text: str) -> Markup:
    """Text that must not be clipped: the policy, and sentences that are ours."""
    return escape(visible(text))


def share(part: float | None, whole: float | None) -> str:
    """Percent for the width of a bar: '37.5'. Something is never drawn as nothing."""
    if not part or not whole or not 0 < part < float("inf"):
        return "0"
    return f"{min(max(100 * part / whole, 0.5), 100):.4g}"


def known_sum(items: Sequence[Any], attribute: str) -> Any:
    """Sum of an attribute over the items that know it; None when none does."""
    known = [found for item in items if (found := getattr(item, attribute)) is not None]
    return sum(known) if known else None
