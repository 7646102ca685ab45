"""Rules over a report: what to fix first, what it cost, and how. Pure; never imports torch."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compilescope.advice.advise import advise
    from compilescope.advice.details import examine, findings_json
    from compilescope.advice.finding import Amount, Evidence, Finding, Saving

__all__ = ["Amount", "Evidence", "Finding", "Saving", "advise", "examine", "findings_json"]

_HOMES = {
    "Amount": "finding",
    "Evidence": "finding",
    "Finding": "finding",
    "Saving": "finding",
    "advise": "advise",
    "examine": "details",
    "findings_json": "details",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
