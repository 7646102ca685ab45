"""The planner's predictions against the device: cost curve, plan on the earlier half, both on the later half.

All device times are of recorded CUDA graphs, between two events around calls made back to back; the host's
share of the same calls stands beside them, for where it is as long the device was waiting for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from traffic_files import FILES, Size, combinations, measured_costs, rungs_of, with_a_free_size
from traffic_model import PadTo, Setting, spread

from compilescope.bucketing import bucketed
from compilescope.ladder import BucketLadder
from compilescope.ladder.planner import score, study_ladder

REPEATS, CALLS, POINT_US = 5, 20, 40_000
"""A point of the curve is so many calls, or fewer where they take longer than this together."""
MOST_ENTRIES = 64
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


def recorded(setting: Setting, model: Any, sizes: Sequence[Size], names: Sequence[str], code: str) -> Any:
    """The model with a CUDA graph at each of ``sizes``."""
    wanted = sorted({with_a_free_size(size) for size in sizes})
    ladders = {
        name: BucketLadder.pins(sorted({size[dim] for size in wanted})).within(
            min(2, *(size[dim] for size in wanted)), max(size[dim] for size in wanted)
        )
        for dim, name in enumerate(names)
    }
    served = bucketed(
        model,
        ladders,
        {"input": dict(enumerate(names))},
        only=[dict(zip(names, size, strict=True)) for size in wanted],
        cuda_graphs="shared" if code == "shared" else True,
        budget=len(wanted),
    )
    served.warm_up(setting.zeros(wanted[0]), grad=False, progress=False)
    return served


@torch.no_grad()
def predict(job: dict[str, Any], save: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """``save`` is given what there is so far, whenever there is more."""
    setting, code, file = Setting(**job["setting"]), job["code"], FILES[job["file"]]
    model = setting.model()
    # Three ladders of one model share Dynamo's cache, and a size of 1 takes another entry in each dim.
    torch._dynamo.config.recompile_limit = MOST_ENTRIES
    result: dict[str, Any] = {"file": job["file"], "code": code}
    started = time.perf_counter()
    sizes, grid = ([tuple(size) for size in job[key]] for key in ("sizes", "grid"))
    points = curve_points(setting, recorded(setting, model, grid, file.dims, code), grid)
    result["cost"] = {"static": points}
    result["curve_s"] = time.perf_counter() - started
    save(result)
    costs = measured_costs(points)
    study = study_ladder(file.traffic(sizes), costs, file.limits(job["rungs"], sizes, setting.device))
    late = sizes[len(sizes) // 2 :]
    measured = file.taken(late, job["requests"])
    ladders = {"planned": study.score.ladder} | {rival.name: rival.score.ladder for rival in study.rivals}
    result["ladders"] = {}
    for name, ladder in ladders.items():
        here, whole = (score(ladder, file.traffic(each), costs) for each in (measured, late))
        rungs = rungs_of(ladder)
        result["ladders"][name] = {
            "rungs": rungs,
            "graphs": len(combinations(measured, rungs)),
            "predicted_us": [here.low, here.cost, here.high],
            "predicted_whole_us": whole.cost,
            "padding": here.padding,
            "unserved": here.unserved,
            "unserved_share": whole.unserved / len(late),
            "beyond_share": here.beyond,
        }
    save(result)
    measure_ladders(setting, model, result, measured, file.dims, code, save)
    result["whole_s"] = time.perf_counter() - started
    return result


def curve_points(setting: Setting, served: Any, grid: Sequence[Size]) -> list[dict[str, Any]]:
    inputs, timed = setting.inputs([with_a_free_size(size) for size in grid]), Timed(setting)
    served_at = {size: inputs[with_a_free_size(size)] for size in grid}
    calls = {size: lambda x=x: served(x) for size, x in served_at.items()}
    once = {size: timed([call] * 2)[0] for size, call in calls.items()}
    runs = {size: max(2, min(CALLS, int(POINT_US / us))) for size, us in once.items()}
    found: dict[Size, list[float]] = {size: [] for size in grid}
    for _ in range(REPEATS):
        for size, call in calls.items():
            found[size].append(timed([call] * runs[size])[0])
    keys = ("low_us", "cost_us", "high_us")
    return [{"size": size, **dict(zip(keys, spread(found[size]), strict=True))} for size in grid]


def measure_ladders(
    setting: Setting,
    model: Any,
    result: dict[str, Any],
    requests: Sequence[Size],
    names: Sequence[str],
    code: str,
    save: Callable[[dict[str, Any]], None],
) -> None:
    ladders = result["ladders"]
    needed = {size for each in ladders.values() for size in combinations(requests, each["rungs"])}
    served = recorded(setting, model, sorted(needed), names, code)
    calls: dict[str, Any] = {name: PadTo(served, each["rungs"]) for name, each in ladders.items()}
    distinct = set(requests)
    if code == "shared" and len(distinct) <= MOST_RECORDED:
        calls["unpadded"] = recorded(setting, model, sorted(distinct), names, code)
        ladders["unpadded"] = {"graphs": len(distinct)}
    inputs, timed = setting.inputs(requests), Timed(setting)
    runs = {name: [lambda x=inputs[n], call=call: call(x) for n in requests] for name, call in calls.items()}
    for name, run in runs.items():  # nobody's first pass is measured
        timed(run)
        ladders[name] |= {"device_us": [], "host_us": []}
    for _ in range(REPEATS):
        for name, run in runs.items():
            device_us, host_us = timed(run)
            ladders[name]["device_us"].append(device_us)
            ladders[name]["host_us"].append(host_us)
        save(result)
