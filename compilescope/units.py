"""Seconds, bytes, counts, ratios and hostile strings as text, once for every view."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

_UNPRINTABLE = re.compile(r"[^\x20-\x7e]")


def seconds(value: float | None) -> str:
    """0.0042 -> '4.2 ms', 1.234 -> '1.23 s', 94.2 -> '94 s', 3725 -> '1 h 02 min'; None -> 'unknown'."""
    if value is None or not math.isfinite(value):
        return "unknown"
    if value == 0:
        return "0 s"
    if value < 0:
        return "-" + seconds(-value)
    for limit, scale, unit, digits in _SECOND_STEPS:
        if value < limit:
            return f"{value * scale:.{digits}f} {unit}"
    whole_s = round(value)
    if whole_s < 3600:
        return f"{whole_s // 60} min {whole_s % 60:02d} s"
    return f"{whole_s // 3600} h {whole_s % 3600 // 60:02d} min"


def microseconds(value: float | None) -> str:
    """Times of the order of a guard check: 2.514 -> '2.51 us', 3410 -> '3.4 ms'; None -> 'unknown'."""
    if value is None or not value < 999.5:
        return seconds(None if value is None else value * 1e-6)
    return f"{value:.3g} us"


# (below this many seconds, times, unit, digits): limits are where rounding would show a fourth digit
_SECOND_STEPS = (
    (0.0009995, 1e6, "us", 0),
    (0.00995, 1e3, "ms", 1),
    (0.0995, 1e3, "ms", 0),
    (9.995, 1, "s", 2),
    (99.5, 1, "s", 0),
)


def size(value_bytes: int | None) -> str:
    """Decimal bytes: 38_000 -> '38 kB', 1_240_000 -> '1.2 MB'; None -> 'unknown'."""
    if value_bytes is None:
        return "unknown"
    if value_bytes < 1000:
        return f"{value_bytes} B"
    amount = float(value_bytes)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.5:
            return f"{amount:.0f} {unit}" if amount >= 9.95 else f"{amount:.1f} {unit}"
    return f"{amount / 1000:.1f} TB"


def count(value: int | None, singular: str, plural: str | None = None) -> str:
    """(1, 'compile') -> '1 compile', (3, 'break') -> '3 breaks'; None -> 'unknown breaks'."""
    plural = plural or singular + "s"
    if value is None:
        return f"unknown {plural}"
    return f"{value:,} {singular if value == 1 else plural}"


def percent(part: float | None, whole: float | None) -> str:
    """(0.86, 1.15) -> '75 %'; 'unknown' when either is missing or whole is 0."""
    if part is None or not whole:
        return "unknown"
    return f"{100 * part / whole:.0f} %"


def moment(iso: str | None) -> str | None:
    """'2026-11-29T10:00:01.442+00:00' -> '2026-11-29 10:00:01 UTC'; other text and None stay as they are."""
    if iso is None:
        return None
    try:
        parsed = datetime.fromisoformat(iso)
        in_utc = parsed.astimezone(UTC) if parsed.tzinfo else parsed
    except (ValueError, OverflowError):
        return iso
    return f"{in_utc:%Y-%m-%d %H:%M:%S} UTC"


def visible(text: str, *, keep: str = "") -> str:
    """Escape what a terminal or a browser would act on or hide: ESC -> '\\x1b', U+202E -> '\\u202e'.

    Tabs become four spaces; characters in ``keep`` (say a newline) stay. Recorded paths, reasons and code
    are hostile input: an escape sequence may move the cursor, a bidi override may make a path lie.
    """

    def escape(match: re.Match[str]) -> str:
        char = match.group()
        if char in keep or char.isprintable():
            return char
        return "    " if char == "\t" else char.encode("unicode_escape").decode("ascii")

    return text if text.isascii() and text.isprintable() else _UNPRINTABLE.sub(escape, text)
