"""Costs from a JSON file; times in microseconds of device time per call.

{"static":  [{"size": 16, "cost_us": 50.1, "low_us": 49.8, "high_us": 50.9}, ...],
 "dynamic": [...]   or   [{"hint": 600, "points": [...]}, ...],
 "fitted": false, "compile_s": 1.4, "capture_s": [[16, 0.2], [2048, 0.6]], "memory_bytes": 3000000}

A size is a number, or two for traffic of two symbols. "fitted": true draws a line through the points.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from compilescope.ladder.planner._strict_json import Source, shown
from compilescope.ladder.planner.costs import Amount, CostModel, Costs, Dynamic
from compilescope.ladder.planner.curve import CostPoint, Curve
from compilescope.ladder.planner.errors import CostError
from compilescope.ladder.planner.surface import Surface
from compilescope.ladder.planner.traffic import LARGEST_SIZE

_AMOUNTS = ("compile_s", "capture_s", "memory_bytes")
_KEYS = ("name", "note", "static", "dynamic", "fitted", *_AMOUNTS)


def load_costs(path: Path) -> Costs:
    """Raises CostError, with the file and the place, for whatever is not such a file."""
    source = Source(path, CostError)
    fields = source.known("the file", source.read(), _KEYS)
    if "static" not in fields:
        source.fail("no key 'static'", 'expected {"static": [{"size": 16, "cost_us": 50.1}, ...]}')
    fitted = fields.get("fitted", False)
    if not isinstance(fitted, bool):
        source.fail(f"fitted must be true or false, not {shown(fitted)}")
    try:
        return Costs(
            _model(source, "static", fields["static"], fitted),
            _dynamic(source, fields.get("dynamic", []), fitted),
            *_amounts(source, fields),
        )
    except CostError as problem:
        if str(path) in problem.message:
            raise
        source.fail(problem.message, problem.hint)


def _dynamic(source: Source, value: Any, fitted: bool) -> tuple[Dynamic, ...]:
    entries = _list(source, "dynamic", value)
    if not any(isinstance(entry, dict) and "points" in entry for entry in entries):
        return (Dynamic(_model(source, "dynamic", entries, fitted)),) if entries else ()
    return tuple(_tuned(source, f"dynamic[{number}]", entry, fitted) for number, entry in enumerate(entries))


def _tuned(source: Source, where: str, value: Any, fitted: bool) -> Dynamic:
    entry = source.known(where, value, ("hint", "points"))
    hint = entry.get("hint")
    if hint is not None:
        hint = _whole(source, f"{where}.hint", hint)
    return Dynamic(_model(source, f"{where}.points", entry.get("points"), fitted), hint)


def _model(source: Source, where: str, value: Any, fitted: bool) -> CostModel:
    entries = _list(source, where, value)
    points = [_point(source, f"{where}[{number}]", entry) for number, entry in enumerate(entries)]
    widths = {len(sizes) for sizes, _ in points}
    if len(widths) > 1:
        source.fail(f"{where} mixes points of one size and of two")
    if widths == {2}:
        make = Surface.fitted if fitted else Surface.measured
        return make(((sizes[0], sizes[1]), point) for sizes, point in points)
    return (Curve.fitted if fitted else Curve.measured)(point for _, point in points)


def _point(source: Source, where: str, value: Any) -> tuple[list[int], CostPoint]:
    entry = source.known(where, value, ("size", "cost_us", "low_us", "high_us"))
    size = entry.get("size")
    parts = size if isinstance(size, list) else [size]
    if not 1 <= len(parts) <= 2:
        source.fail(f"{where}.size must be one size or two, not {shown(size)}")
    sizes = [_whole(source, f"{where}.size", part) for part in parts]
    ends = [
        source.number(f"{where}.{end}", entry[end], positive=True) if end in entry else None
        for end in ("low_us", "high_us")
    ]
    cost = source.number(f"{where}.cost_us", entry.get("cost_us"), positive=True)
    return sizes, CostPoint.of(sizes[0] * (sizes[1] if len(sizes) > 1 else 1), cost, *ends)


def _amounts(source: Source, fields: Mapping[str, Any]) -> tuple[Amount | None, Amount | None, Amount | None]:
    found = [_amount(source, name, fields[name]) if name in fields else None for name in _AMOUNTS]
    return found[0], found[1], found[2]


def _amount(source: Source, name: str, value: Any) -> Amount:
    if not isinstance(value, list):
        return Amount.of(source.number(name, value))
    points = []
    for number, pair in enumerate(value):
        where = f"{name}[{number}]"
        if not isinstance(pair, list) or len(pair) != 2:
            source.fail(f"{where} must be [size, amount], not {shown(pair)}")
        points.append((_whole(source, where, pair[0]), source.number(where, pair[1])))
    return Amount.of(points)


def _list(source: Source, where: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        source.fail(f"{where} must be a list of points, not {shown(value)}")
    return value


def _whole(source: Source, where: str, value: Any) -> int:
    if type(value) is not int or not 1 <= value <= LARGEST_SIZE:
        source.fail(f"{where} must be a whole number in 1..{LARGEST_SIZE}, not {shown(value)}")
    return value
