"""Runs a program again only to time one of its graphs: the cost curve a ladder is planned from."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from compilescope.analysis.traffic import FrameTraffic
from compilescope.errors import CompileScopeError, UsageError
from compilescope.ladder.planner import Amount, CostPoint, Costs, Curve, Dynamic, Surface, Traffic
from compilescope.launch import Target, run_program
from compilescope.trial.timing import interval

MEASURE = "COMPILESCOPE_MEASURE"
POINTS = 8
ROUNDS = 15
_TAIL_LINES = 5
_SHARES = (0.5, 0.9, 0.25, 0.75, 0.99, 0.1)


class MeasureError(CompileScopeError):
    """The program's graph could not be timed."""

    slug = "measure"


@dataclass(frozen=True, slots=True)
class Measurement:
    """``costs`` of the sizes that could be timed, and how that was done."""

    costs: Costs
    notes: tuple[str, ...]


def measure_ladder(
    found: FrameTraffic,
    target: Target,
    *,
    sizes: Sequence[tuple[int, ...]],
    rounds: int = ROUNDS,
    budget_s: float = 600.0,
    say: Callable[[str], None],
) -> Measurement:
    """Time the graph of ``found`` at ``sizes``, each as static and as dynamic code.

    The program is ended as soon as that is done. Raises MeasureError, and UsageError for a program that
    cannot be started.
    """
    if not found.dims:
        raise UsageError("which inputs of the graph the sizes are of is not in the recording")
    with tempfile.TemporaryDirectory(prefix="compilescope-measure-") as kept:
        folder = Path(kept)
        job = {
            "out": str(folder / "measured.json"),
            "function": found.function,
            "line": found.line,
            "frame": found.frame,
            "dims": [list(dim) for dim in found.dims],
            "dynamic": [list(dim) for dim in found.changing],
            "sizes": [list(row) for row in sizes],
            "hint": list(middle(found.traffic)),
            "rounds": rounds,
            "budget_s": budget_s,
        }
        say(f"running the program again to time {found.function} at {len(sizes)} sizes")
        log = folder / "output.log"
        with _set(MEASURE, json.dumps(job)):
            recording = folder / "run.compilescope"
            outcome = run_program(target, output=recording, log=log, fresh_cache=True, say=say)
        try:
            answer = json.loads((folder / "measured.json").read_text("utf-8"))
        except OSError:
            raise MeasureError(
                f"the program ended with status {outcome.ended.exit_status} before its graph was timed",
                hint="\n".join(_tail(log)) or None,
            ) from None
    return measurement(answer)


def measurement(answer: Mapping[str, Any]) -> Measurement:
    """From what the program's process wrote. Raises MeasureError when nothing in it can be used."""
    if answer.get("problem"):
        raise MeasureError(f"the graph was not timed: {answer['problem']}")
    static, dynamic = (_points(answer[key]) for key in ("static", "dynamic"))
    if not static:
        why = next((row["problem"] for row in answer["static"] if row["problem"]), "no reason was given")
        raise MeasureError(f"no size could be timed: {why}")
    hint = tuple(answer["hint"])
    through = (Dynamic(_model(dynamic), hint[0] if len(hint) == 1 else None),) if dynamic else ()
    made = partial(_amount, answer["static"], len(hint))
    costs = Costs(_model(static), through, made("compile_s"), made("capture_s"), made("memory_bytes"))
    return Measurement(costs, tuple(_notes(answer, len(static), len(dynamic))))


def sizes_to_measure(
    traffic: Traffic, points: int = POINTS, rungs: Sequence[int] = ()
) -> list[tuple[int, ...]]:
    """Quantiles of the calls, the ends, and ``rungs`` worth a point; most important first.

    For two symbols the grid of the quantiles of each, as near to ``points`` as a square is.
    """
    if len(traffic.names) == 1:
        ladder = _quantiles(traffic, 0)
        ends = [int(traffic.sizes.max()), int(traffic.sizes.min())]
        wanted = [ladder[0], *ends, *rungs, *ladder[1:]]
        return [(size,) for size in list(dict.fromkeys(wanted))[:points]]
    side = max(2, int(points**0.5))
    axes = []
    for axis in range(len(traffic.names)):
        column = traffic.sizes[:, axis]
        wanted = [int(column.max()), *_quantiles(traffic, axis)[:1], int(column.min())]
        axes.append(list(dict.fromkeys(wanted))[:side])
    return [(first, second) for first in axes[0] for second in axes[1]]


def middle(traffic: Traffic) -> tuple[int, ...]:
    """What a dynamic artifact is tuned at: the median size of the calls, which is one that came."""
    return tuple(_quantiles(traffic, axis)[0] for axis in range(len(traffic.names)))


def costs_json(costs: Costs) -> str:
    """A cost file, as ``--cost`` reads it."""
    fields: dict[str, Any] = {"static": _written(costs.static)}
    if costs.dynamic:
        fields["dynamic"] = [
            {"points": _written(each.model), **({} if each.hint is None else {"hint": each.hint})}
            for each in costs.dynamic
        ]
    for name in ("compile_s", "capture_s", "memory_bytes"):
        amount: Amount | None = getattr(costs, name)
        if amount is not None:
            single = len(amount.points) == 1
            fields[name] = amount.points[0][1] if single else [list(point) for point in amount.points]
    return json.dumps(fields, indent=1) + "\n"


def _written(model: Curve | Surface) -> list[dict[str, Any]]:
    points = (
        [(point.size, point) for point in model.points]
        if isinstance(model, Curve)
        else [(list(sizes), point) for sizes, point in model.points]
    )
    return [
        {"size": size, "cost_us": point.cost, "low_us": point.low, "high_us": point.high}
        for size, point in points
    ]


def _quantiles(traffic: Traffic, axis: int) -> list[int]:
    column = traffic.sizes[:, axis]
    order = np.argsort(column, kind="stable")
    share = np.cumsum(traffic.counts[order]) / traffic.calls
    at = np.minimum(np.searchsorted(share, _SHARES), len(order) - 1)
    return [int(size) for size in column[order][at]]


def _points(rows: Sequence[Mapping[str, Any]]) -> list[tuple[tuple[int, ...], CostPoint]]:
    found = []
    for row in rows:
        if row["samples_us"]:
            spread = interval(row["samples_us"])
            size = int(np.prod(row["sizes"]))
            found.append((tuple(row["sizes"]), CostPoint(size, spread.value, spread.low, spread.high)))
    return found


def _model(points: Sequence[tuple[tuple[int, ...], CostPoint]]) -> Curve | Surface:
    if len(points[0][0]) == 1:
        return Curve.measured(point for _, point in points)
    return Surface.measured(((sizes[0], sizes[1]), point) for sizes, point in points)


def _amount(rows: Sequence[Mapping[str, Any]], symbols: int, name: str) -> Amount | None:
    known = [(row["sizes"], float(row[name])) for row in rows if row[name] is not None]
    if not known:
        return None
    if symbols > 1:
        return Amount.of(float(np.median([amount for _, amount in known])))
    return Amount.of((sizes[0], amount) for sizes, amount in known)


def _notes(answer: Mapping[str, Any], static: int, dynamic: int) -> Iterator[str]:
    what = "forward and backward" if answer["backward"] else "forward"
    tuned = "x".join(map(str, answer["hint"]))
    yield (
        f"costs were measured: {what} of the captured graph on {answer['device']} with {answer['backend']}, "
        f"by {answer['basis']}, static at {static} sizes and dynamic (tuned at {tuned}) at {dynamic} by turns"
    )
    for kind in ("static", "dynamic"):
        for row in answer[kind]:
            if row["problem"]:
                yield f"{kind} at {'x'.join(map(str, row['sizes']))} was not timed: {row['problem']}"


def _tail(log: Path) -> list[str]:
    try:
        return log.read_text("utf-8", "replace").splitlines()[-_TAIL_LINES:]
    except OSError:
        return []


@contextmanager
def _set(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before
