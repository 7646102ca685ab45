"""Seconds, bytes and counts as text, once for every view."""

from __future__ import annotations


def seconds(value: float | None) -> str:
    """0.0042 -> '4.2 ms', 1.234 -> '1.23 s', 94.2 -> '94 s', 3725 -> '1 h 02 min'; None -> 'unknown'."""
    if value is None:
        return "unknown"
    if value < 0.001:
        return f"{value * 1e6:.0f} us"
    if value < 0.1:
        return f"{value * 1e3:.1f} ms" if value < 0.01 else f"{value * 1e3:.0f} ms"
    if value < 10:
        return f"{value:.2f} s"
    if value < 100:
        return f"{value:.0f} s"
    if value < 3600:
        return f"{int(value // 60)} min {int(value % 60):02d} s"
    return f"{int(value // 3600)} h {int(value % 3600 // 60):02d} min"


def size(value_bytes: int | None) -> str:
    """Decimal bytes: 38_000 -> '38 kB', 1_240_000 -> '1.2 MB'; None -> 'unknown'."""
    if value_bytes is None:
        return "unknown"
    if value_bytes < 1000:
        return f"{value_bytes} B"
    amount = float(value_bytes)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 1000:
            return f"{amount:.0f} {unit}" if amount >= 10 else f"{amount:.1f} {unit}"
    return f"{amount / 1000:.1f} TB"


def count(value: int | None, singular: str, plural: str | None = None) -> str:
    """(1, 'compile') -> '1 compile', (3, 'graph break') -> '3 graph breaks'; None -> 'unknown graph breaks'."""
    plural = plural or singular + "s"
    if value is None:
        return f"unknown {plural}"
    return f"{value:,} {singular if value == 1 else plural}"


def percent(part: float | None, whole: float | None) -> str:
    """(0.86, 1.15) -> '75 %'; 'unknown' when either is missing or whole is 0."""
    if part is None or not whole:
        return "unknown"
    return f"{100 * part / whole:.0f} %"
