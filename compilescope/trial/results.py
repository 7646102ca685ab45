"""Are the results the same? Only a program that calls ``compilescope.check`` lets us know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compilescope.trial.measure import Measured

_RELATIVE = 1e-3  # fused kernels round otherwise than separate ones
_ABSOLUTE = 1e-5
_NOISE_TIMES = 3.0


@dataclass(frozen=True, slots=True)
class Results:
    """``compared`` counts values; 0 means that nothing could be compared. ``differing`` says what and how."""

    compared: int
    differing: tuple[str, ...]
    noisy: tuple[str, ...] = ()  # names whose values differ among unchanged runs already

    @property
    def text(self) -> str:
        if not self.compared:
            return "results not compared"
        if self.differing:
            return f"results differ: {self.differing[0]}"
        told = f"results equal ({self.compared} values compared)"
        return f"{told}; {', '.join(self.noisy)} varies from run to run by itself" if self.noisy else told


def compare_results(base: Sequence[Measured], changed: Sequence[Measured]) -> Results:
    """Each value against the first unchanged run; what unchanged runs differ by is tolerated."""
    before = base[0].checks if base else {}
    differing: list[str] = []
    noisy: list[str] = []
    compared = 0
    for name, values in before.items():
        noise = max((_distance(values, run.checks.get(name)) for run in base[1:]), default=0.0)
        if noise > 1.0:
            noisy.append(name)
        for run in changed:
            other = run.checks.get(name)
            if other is None or len(other) != len(values):
                differing.append(f"{name} was checked {len(other or ())} times, not {len(values)}")
                break
            compared += len(values)
            if _distance(values, other) > max(1.0, _NOISE_TIMES * noise):
                differing.append(_example(name, values, other))
                break
    return Results(compared, tuple(differing), tuple(noisy))


def _distance(one: Sequence[Any], other: Sequence[Any] | None) -> float:
    """The largest difference in units of the tolerance; infinite where two values cannot be near."""
    if other is None or len(one) != len(other):
        return float("inf")
    return max((_apart(a, b) for a, b in zip(one, other, strict=True)), default=0.0)


def _apart(one: Any, other: Any) -> float:
    if isinstance(one, list) and isinstance(other, list):
        return _distance(one, other)
    if _is_number(one) and _is_number(other):
        return float(abs(one - other) / (_ABSOLUTE + _RELATIVE * abs(one)))
    return 0.0 if one == other else float("inf")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _example(name: str, one: Sequence[Any], other: Sequence[Any]) -> str:
    at = max(range(len(one)), key=lambda i: _apart(one[i], other[i]))
    return f"{name}, value {at + 1}: {one[at]} became {other[at]}"


def counts_of(runs: Sequence[Measured], name: str) -> list[int]:
    return [value for run in runs if (value := run.counts.get(name)) is not None]


def finding_counts(runs: Sequence[Measured], identity: str) -> list[Mapping[str, float]]:
    """What the finding counted in each run; empty where it was not found."""
    return [run.by_finding.get(identity, {}) for run in runs]
