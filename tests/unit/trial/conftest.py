"""Runs made up by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from compilescope.advice import Amount, Finding
from compilescope.trial.measure import COUNTS, Measured
from compilescope.trial.timing import Interval, Steps

CORPUS = Path(__file__).parents[3] / "fixtures" / "corpus" / "recordings"
Make = Callable[..., Measured]


@pytest.fixture
def make_run() -> Make:
    def make(
        *,
        counts: dict[str, int | None] | None = None,
        step_s: float | None = None,
        spread: float = 0.01,
        steps: int = 800,
        found: dict[str, dict[str, float]] | None = None,
        checks: dict[str, Sequence[Any]] | None = None,
        exit_status: int | None = 0,
        compile_s: float | None = 1.0,
        problems: tuple[str, ...] = (),
    ) -> Measured:
        known = dict.fromkeys(COUNTS, 0) | (counts or {})
        made = None if step_s is None else Interval(step_s, step_s * (1 - spread), step_s * (1 + spread))
        return Measured(
            exit_status=exit_status,
            counts=known,
            compile_s=compile_s,
            wall_s=10.0,
            steps=None if step_s is None else Steps("calls of net", steps, [], []),
            step_s=made,
            checks={name: list(values) for name, values in (checks or {}).items()},
            by_finding=found or {},
            findings=(),
            problems=problems,
        )

    return make


@pytest.fixture
def make_finding() -> Callable[..., Finding]:
    def make(rule: str = "size_drift", **cost: float) -> Finding:
        return Finding(
            rule=rule,
            severity="medium",
            file="train.py",
            line=3,
            function="f",
            summary="x takes other sizes",
            fix="mark it",
            fix_kind="mark_dynamic_or_pad",
            identity=f"{rule}|train.py|f|x",
            cost={name: Amount(value, "counted", "by hand") for name, value in cost.items()},
        )

    return make
