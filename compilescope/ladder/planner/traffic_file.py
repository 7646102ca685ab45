"""Traffic from a JSON file: a list of sizes, or an object around one.

{"sizes": [130, 125, ...]}                      one symbol, a size per call, in order of time
{"sizes": [[8, 1], [2, 230], ...], "symbols": ["batch", "length"]}
{"sizes": [16, 512], "counts": [900, 100], "ordered": false}       how often, order unknown
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from compilescope.ladder.planner._strict_json import Source, shown
from compilescope.ladder.planner.errors import TrafficError
from compilescope.ladder.planner.traffic import Traffic

_KEYS = ("name", "note", "sizes", "symbols", "counts", "ordered", "unseen")
_MOST_SYMBOLS = 16


def load_traffic(path: Path) -> Traffic:
    """Raises TrafficError, with the file and the place, for whatever is not such a file."""
    source = Source(path, TrafficError)
    value = source.read()
    fields = {"sizes": value} if isinstance(value, list) else source.known("the file", value, _KEYS)
    if "sizes" not in fields:
        source.fail("no key 'sizes'", 'expected {"sizes": [130, 125, ...]}')
    sizes = _sizes(source, fields["sizes"])
    try:
        return Traffic.of(
            sizes,
            names=_symbols(source, fields, len(sizes[0]) if isinstance(sizes[0], list) else 1),
            counts=_counts(source, fields),
            ordered=_flag(source, fields.get("ordered", True)),
            label=source.text("name", fields.get("name", path.stem)),
            note=source.text("note", fields.get("note", "")),
            unseen=_unseen(source, fields.get("unseen", 0)),
        )
    except TrafficError as problem:
        if str(path) in problem.message:
            raise
        source.fail(problem.message, problem.hint)


def _sizes(source: Source, value: Any) -> list[Any]:
    if not isinstance(value, list) or not value:
        source.fail(f"sizes must be a list with something in it, not {shown(value)}")
    if isinstance(value[0], list):
        width = len(value[0])
        if not 1 <= width <= _MOST_SYMBOLS:
            source.fail(f"a row has 1 to {_MOST_SYMBOLS} sizes, not {width}")
        for number, row in enumerate(value):
            if not isinstance(row, list) or len(row) != width:
                source.fail(f"sizes[{number}] must be a list of {width}, as the first is, not {shown(row)}")
            _check_whole(source, row, f"sizes[{number}]")
    else:
        _check_whole(source, value, "sizes")
    return value


def _check_whole(source: Source, values: list[Any], where: str) -> None:
    if set(map(type, values)) <= {int} and max(values) < 2**63 and min(values) > 0:
        return
    for number, value in enumerate(values):
        if type(value) is not int or not 0 < value < 2**63:
            source.fail(f"{where}[{number}] must be a whole number above zero, not {shown(value)}")


def _symbols(source: Source, fields: Any, width: int) -> list[str] | None:
    if "symbols" not in fields:
        return None
    names = fields["symbols"]
    if not isinstance(names, list) or len(names) != width:
        source.fail(f"symbols must be a list of {width} names, not {shown(names)}")
    return [source.text(f"symbols[{number}]", name) for number, name in enumerate(names)]


def _counts(source: Source, fields: Any) -> list[int] | None:
    if "counts" not in fields:
        return None
    counts = fields["counts"]
    if not isinstance(counts, list):
        source.fail(f"counts must be a list, not {shown(counts)}")
    _check_whole(source, counts or [0], "counts")
    return counts


def _flag(source: Source, value: Any) -> bool:
    if not isinstance(value, bool):
        source.fail(f"ordered must be true or false, not {shown(value)}")
    return value


def _unseen(source: Source, value: Any) -> int | None:
    if value is not None and (type(value) is not int or not 0 <= value < 2**53):
        source.fail(f"unseen must be a number of calls or null, not {shown(value)}")
    return value
