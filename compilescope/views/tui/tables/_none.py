"""Why a screen has nothing to show. Zero and unknown are two things."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compilescope.analysis.report import Report


def nothing(report: Report, good: str) -> str:
    """``good`` where something was compiled; else why nothing was."""
    if report.totals.compiles or report.totals.graphs:
        return good
    reasons = [diagnosis.text for diagnosis in report.diagnoses]
    return " ".join(reasons or ["Nothing was compiled, so there is nothing to show here."])
