"""The planner's predictions against the device: cost curve, plan on the earlier half, both on the later half.

All device times are of recorded CUDA graphs, between two events around calls made back to back; the host's
share of the same calls stands beside them, for where it is as long the device was waiting for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from traffic_model import PadTo, Setting, spread

from compilescope.bucketing import bucketed
from compilescope.ladder import BucketLadder
from compilescope.ladder.planner import CostPoint, Costs, Curve, Limits, Traffic, study_ladder

REPEATS, CALLS = 5, 20
MOST_RECORDED = 450
"""Distinct sizes up to which 'unpadded', one recording a size, is measured as well."""


class Timed:
    """A call's time on the device and on the host, in microseconds, over a run of many."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def __call__(self, calls: Sequence[Callable[[], Any]]) -> tuple[float, float]:
        self._setting.synchronize()
        started = time.perf_counter()
        if self._setting.device != "cuda":
            for call in calls:
                call()
            wall_us = (time.perf_counter() - started) * 1e6 / len(calls)
            return wall_us, wall_us
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        for call in calls:
            call()
        last.record()
        host_us = (time.perf_counter() - started) * 1e6 / len(calls)
        last.synchronize()
        return first.elapsed_time(last) * 1e3 / len(calls), host_us


def recorded(setting: Setting, model: Any, sizes: Sequence[int], code: str) -> Any:
    """The model with a CUDA graph at each of ``sizes``."""
    ladder = BucketLadder.pins(sorted(set(sizes))).within(2, max(sizes))
    graphs = "shared" if code == "shared" else True
    served = bucketed(model, ladder, {"input": {0: "tokens"}}, cuda_graphs=graphs, budget=len(set(sizes)))
    example = torch.zeros(min(sizes), setting.width, device=setting.device, dtype=setting.dtype)
    served.warm_up(example, grad=False, progress=False)
    return served


@torch.no_grad()
def predict(job: dict[str, Any], save: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """``save`` is given what there is so far, whenever there is more."""
    setting, code = Setting(**job["setting"]), job["code"]
    model = setting.model()
    result: dict[str, Any] = {"file": job["file"], "code": code}
    points = curve_points(setting, recorded(setting, model, job["grid"], code), job["grid"])
    result["cost"] = {"static": points}
    save(result)
    costs = Costs(
        Curve.measured([CostPoint(p["size"], p["cost_us"], p["low_us"], p["high_us"]) for p in points])
    )
    limits = Limits(max_rungs=job["max_rungs"], align=job["align"], maximum=job["highest"])
    study = study_ladder(Traffic.of(job["sizes"]), costs, limits)
    scores = {"planned": study.score} | {rival.name: rival.score for rival in study.rivals}
    result["ladders"] = {
        name: {
            "rungs": [rung.size for rung in each.ladder.pad_rungs],
            "predicted_us": [each.low, each.cost, each.high],
            "padding": each.padding,
            "unserved": each.unserved,
        }
        for name, each in scores.items()
    }
    save(result)
    late = job["sizes"][len(job["sizes"]) // 2 :][: job["requests"]]
    measure_ladders(setting, model, result, late, code, save)
    return result


def curve_points(setting: Setting, served: Any, grid: Sequence[int]) -> list[dict[str, float]]:
    inputs, timed = setting.inputs(grid), Timed(setting)
    found: dict[int, list[float]] = {n: [] for n in grid}
    for _ in range(REPEATS):
        for n in grid:
            found[n].append(timed([lambda x=inputs[n]: served(x)] * CALLS)[0])
    keys = ("low_us", "cost_us", "high_us")
    return [{"size": n, **dict(zip(keys, spread(found[n]), strict=True))} for n in grid]


def measure_ladders(
    setting: Setting,
    model: Any,
    result: dict[str, Any],
    late: Sequence[int],
    code: str,
    save: Callable[[dict[str, Any]], None],
) -> None:
    ladders = result["ladders"]
    served = recorded(setting, model, [n for each in ladders.values() for n in each["rungs"]], code)
    calls: dict[str, Any] = {name: PadTo(served, each["rungs"]) for name, each in ladders.items()}
    if code == "shared" and len(set(late)) <= MOST_RECORDED:
        calls["unpadded"] = recorded(setting, model, late, code)
        ladders["unpadded"] = {"rungs": len(set(late))}
    inputs, timed = setting.inputs(late), Timed(setting)
    for name, call in calls.items():  # nobody's first pass is measured
        timed([lambda x=inputs[n], call=call: call(x) for n in late])
        ladders[name] |= {"device_us": [], "host_us": []}
    for _ in range(REPEATS):
        for name, call in calls.items():
            device_us, host_us = timed([lambda x=inputs[n], call=call: call(x) for n in late])
            ladders[name]["device_us"].append(device_us)
            ladders[name]["host_us"].append(host_us)
        save(result)
