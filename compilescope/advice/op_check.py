"""What ``torch.library.opcheck`` said of one custom operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PASSED = "SUCCESS"


@dataclass(frozen=True, slots=True)
class OpCheck:
    """``results``: test of opcheck -> "SUCCESS", or what failed. ``file`` and ``line`` are the operator's
    definition where Python has it, else where it was called from; ``called`` is the latter.
    """

    op: str
    schema: str | None
    file: str | None
    line: int | None
    function: str | None
    called: str | None
    calls: int
    results: Mapping[str, str] = field(default_factory=dict)

    def failure(self, test: str) -> str | None:
        told = self.results.get(test, PASSED)
        return None if told == PASSED else told
