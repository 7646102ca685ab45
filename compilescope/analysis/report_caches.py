"""Rows of the report about compile caches as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field

from compilescope.analysis.report_missing import Missing


@dataclass(frozen=True, slots=True)
class Profile:
    """A look-up of Dynamo's profile of an earlier run (PGO), which tells sizes that will change."""

    process: str
    outcome: str  # hit | miss | bypass
    reason: str | None  # of a miss or bypass
    key: str | None
    frames: int | None  # functions the profile found knows
    took_s: float | None
    missing: list[Missing] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CacheTotals:
    """Counted cache outcomes over all processes; an empty dict where a cache was not asked.

    ``triton_bundle`` and ``saved_s`` are of the graphs whose look-ups the report lists; ``remote`` is of
    caches shared between machines.
    """

    fx_graph: dict[str, int] = field(default_factory=dict)
    aot_autograd: dict[str, int] = field(default_factory=dict)
    pgo: dict[str, int] = field(default_factory=dict)
    triton_bundle: dict[str, int] = field(default_factory=dict)
    remote: dict[str, dict[str, int]] = field(default_factory=dict)  # cache -> outcome -> times
    saved_s: dict[str, float] = field(default_factory=dict)  # cache -> seconds, by torch's own account
    profiles: list[Profile] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
