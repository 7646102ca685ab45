"""A comparison as JSON values. Infinite numbers become null."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from compilescope.trial.eager import AgainstEager
from compilescope.trial.measure import Measured
from compilescope.trial.timing import Interval
from compilescope.trial.trial import Outcome, Trial

FORMAT_VERSION = 1


def trial_json(trial: Trial) -> dict[str, Any]:
    return {
        "format_version": FORMAT_VERSION,
        "change": list(trial.change),
        "before": _runs(trial.base),
        "changed": _runs(trial.changed),
        "results": asdict(trial.results) | {"text": trial.results.text},
        "findings": [_outcome(outcome) for outcome in trial.outcomes],
        "notes": list(trial.notes),
    }


def eager_json(answer: AgainstEager) -> dict[str, Any]:
    return {
        "format_version": FORMAT_VERSION,
        "eager": _runs(answer.eager),
        "compiled": _runs(answer.compiled),
        "results": asdict(answer.results) | {"text": answer.results.text},
        "eager_step_s": _interval(answer.eager_step_s),
        "compiled_step_s": _interval(answer.compiled_step_s),
        "speedup": _interval(answer.speedup),
        "compile_s": answer.compile_s,
        "pays_back_after_steps": _interval(answer.pays_back_after),
        "pays": answer.pays,
        "steps": answer.steps,
        "steps_basis": answer.basis,
        "notes": list(answer.notes),
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "rule": outcome.finding.rule,
        "identity": outcome.finding.identity,
        "place": outcome.finding.place,
        "verified": outcome.verdict.word,
        "reason": outcome.verdict.reason,
        "is_fix": outcome.is_fix,
    }


def _runs(runs: Sequence[Measured]) -> list[dict[str, Any]]:
    return [
        {
            "exit_status": run.exit_status,
            **run.counts,
            "compile_s": run.compile_s,
            "wall_s": run.wall_s,
            "steps": run.steps.count if run.steps else None,
            "steps_basis": run.steps.basis if run.steps else None,
            "step_s": _interval(run.step_s),
        }
        for run in runs
    ]


def _interval(found: Interval | None) -> dict[str, float | None] | None:
    if found is None:
        return None
    return {name: value if math.isfinite(value) else None for name, value in asdict(found).items()}
