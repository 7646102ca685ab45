"""Budgets of a project: ``[tool.compilescope.check]`` in the nearest pyproject.toml.

[tool.compilescope.check]
baseline = "compilescope-baseline.json"   # relative to the pyproject.toml
fail-on = "medium"        # new findings of this severity or worse fail, lower ones warn
graph-breaks = 0          # more than this fails
compile-s = 120
after-step = 3            # count only what came after this step of the program
time-factor = 2.0         # times may grow to this factor of the baseline ..
time-floor-s = 10.0       # .. and differences below this never count

[tool.compilescope.check.warn]
recompiles = 4            # more than this warns
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compilescope.advice.finding import SEVERITIES, Severity
from compilescope.errors import UsageError

LIMITS = ("graph-breaks", "recompiles", "limit-hits", "failures", "eager-calls", "compile-s")
_TABLE = "[tool.compilescope.check]"
_OWN = ("baseline", "fail-on", "after-step", "time-factor", "time-floor-s", "warn", *LIMITS)


@dataclass(frozen=True, slots=True)
class Budgets:
    """``fail`` and ``warn`` map names of :data:`LIMITS` to the largest accepted value."""

    baseline: Path | None = None
    fail_on: Severity = "medium"
    time_factor: float = 2.0
    time_floor_s: float = 10.0
    fail: Mapping[str, float] = field(default_factory=dict)
    warn: Mapping[str, float] = field(default_factory=dict)
    after_step: int | None = None
    file: Path | None = None


def find_budgets(directory: Path) -> Budgets:
    """From the nearest pyproject.toml upwards that has the table; defaults where none has.

    Raises UsageError for TOML that cannot be read, unknown keys and values of the wrong kind.
    """
    start = directory.absolute()
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        table = _table(file) if file.is_file() else None
        if table is not None:
            return parse_budgets(table, file)
    return Budgets()


def parse_budgets(table: Mapping[str, Any], file: Path) -> Budgets:
    _check_keys(table, _OWN, _TABLE, file)
    warn = table.get("warn", {})
    if not isinstance(warn, dict):
        raise UsageError(f"warn in {_TABLE} of {file} must be a table")
    _check_keys(warn, LIMITS, "[tool.compilescope.check.warn]", file)
    name = table.get("baseline")
    if name is not None and not isinstance(name, str):
        raise UsageError(f"baseline in {_TABLE} of {file} must be a file name")
    return Budgets(
        baseline=file.parent / name if name else None,
        fail_on=_severity(table.get("fail-on", "medium"), file),
        time_factor=_number(table, "time-factor", 2.0, file),
        time_floor_s=_number(table, "time-floor-s", 10.0, file),
        fail={key: _number(table, key, 0.0, file) for key in LIMITS if key in table},
        warn={key: _number(warn, key, 0.0, file) for key in LIMITS if key in warn},
        after_step=int(_number(table, "after-step", 0.0, file)) if "after-step" in table else None,
        file=file,
    )


def _table(file: Path) -> Mapping[str, Any] | None:
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise UsageError(f"cannot read {file}: {problem}") from problem
    node: Any = data
    for part in ("tool", "compilescope", "check"):
        node = node.get(part) if isinstance(node, dict) else None
    return node if isinstance(node, dict) else None


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], name: str, file: Path) -> None:
    for key in table:
        if key not in known:
            close = difflib.get_close_matches(key.replace("_", "-"), known, n=1)
            hint = f"did you mean: {close[0]}" if close else f"known keys: {', '.join(known)}"
            raise UsageError(f"unknown key {key!r} in {name} of {file}", hint=hint)


def _number(table: Mapping[str, Any], key: str, default: float, file: Path) -> float:
    value = table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise UsageError(f"{key} in {file} must be a number from 0 on, not {value!r}")
    return float(value)


def _severity(value: object, file: Path) -> Severity:
    if value not in SEVERITIES:
        raise UsageError(f"fail-on in {file} must be one of {', '.join(SEVERITIES)}, not {value!r}")
    return value
