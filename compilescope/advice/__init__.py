"""Rules over a report: what to fix first, what it cost, and how. Pure; never imports torch."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compilescope.advice.details import examine
    from compilescope.advice.finding import Amount, Evidence, Finding, Saving
    from compilescope.advice.plain import findings_json, worst_from_findings
    from compilescope.advice.rules import advise

__all__ = [
    "Amount",
    "Evidence",
    "Finding",
    "Saving",
    "advise",
    "examine",
    "findings_json",
    "worst_from_findings",
]

_HOMES = {
    "Amount": "finding",
    "Evidence": "finding",
    "Finding": "finding",
    "Saving": "finding",
    "advise": "rules",
    "examine": "details",
    "findings_json": "plain",
    "worst_from_findings": "plain",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
