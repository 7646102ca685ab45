"""The planner's predictions against the device: cost curve, plan on the earlier half, both on the later half.

All device times are of recorded CUDA graphs, between two events around calls made back to back; the host's
share of the same calls stands beside them, for where it is as long the device was waiting for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from traffic_files import FILES, File, Size, combinations, measured_costs, rungs_of, with_a_free_size
from traffic_model import PadTo, Setting, padded, spread

from compilescope.bucketing import bucketed
from compilescope.ladder import BucketLadder
from compilescope.ladder.planner import Costs, Study, score, study_ladder

Save = Callable[[dict[str, Any]], None]
REPEATS, ROUNDS, CALLS, POINT_US = 5, 2, 20, 40_000
"""A point of the curve is so many calls, or fewer where they take longer than this together."""
MOST_RECORDED = 450
"""Distinct sizes up to which 'unpadded', one recording a size, is measured as well."""
MOST_ENTRIES = 64


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
def predict(job: dict[str, Any], save: Save) -> dict[str, Any]:
    """``save`` is given what there is so far, whenever there is more."""
    setting, file = Setting(**job["setting"]), FILES[job["file"]]
    # The ladders of one model share Dynamo's cache, and a size of 1 takes another entry in each dim.
    torch._dynamo.config.recompile_limit = MOST_ENTRIES
    result: dict[str, Any] = {"file": job["file"], "code": job["code"]}
    started = time.perf_counter()
    served, study, points = costs_and_plan(setting, setting.model(), job, result, save)
    result["curve_s"] = time.perf_counter() - started
    sizes = [tuple(size) for size in job["sizes"]]
    late = sizes[len(sizes) // 2 :]
    measured = file.taken(late, job["requests"])
    result["ladders"] = {
        name: predicted(ladder, file, measured, late, measured_costs(points))
        for name, ladder in ladders_of(study).items()
    }
    save(result)
    is_shared = job["code"] == "shared"  # else every size would be compiled
    measure_ladders(setting, served, result["ladders"], measured, is_shared, lambda: save(result))
    result["whole_s"] = time.perf_counter() - started
    return result


def costs_and_plan(
    setting: Setting, model: Any, job: dict[str, Any], result: dict[str, Any], save: Save
) -> tuple[Callable[[Sequence[Size]], Any], Study, list[dict[str, Any]]]:
    """What records the model at sizes, the plan, and the costs it is made with.

    Of one dim the rungs of all ladders are measured as well and the plan is made again with them: the cost
    climbs in steps, which no few points show. Of two dims all pairs would be too many.
    """
    file, sizes = FILES[job["file"]], [tuple(size) for size in job["sizes"]]
    limits = file.limits(job["rungs"], sizes, setting.device)
    grid = {tuple(size) for size in job["grid"]}
    for _ in range(ROUNDS if len(file.dims) == 1 else 1):
        known = frozenset(grid)
        served = recorded(setting, model, sorted(known), file.dims, job["code"])
        result["cost"] = {"static": curve_points(setting, served, sorted(known))}
        save(result)
        points = result["cost"]["static"]
        study = study_ladder(file.traffic(sizes), measured_costs(points), limits)
        if len(file.dims) == 1:
            grid |= {rung for ladder in ladders_of(study).values() for rung in rungs_of(ladder)}
        if grid == known:
            break

    def at(wanted: Sequence[Size]) -> Any:
        have_all = known.issuperset(wanted)
        return served if have_all else recorded(setting, model, wanted, file.dims, job["code"])

    return at, study, points


def ladders_of(study: Study) -> dict[str, Any]:
    return {"planned": study.score.ladder} | {rival.name: rival.score.ladder for rival in study.rivals}


def predicted(
    ladder: Any, file: File, measured: Sequence[Size], late: Sequence[Size], costs: Costs
) -> dict[str, Any]:
    """Of the requests that will be measured; the unserved share of the whole later half."""
    here, whole = (score(ladder, file.traffic(each), costs) for each in (measured, late))
    return {
        "rungs": rungs_of(ladder),
        "graphs": len(combinations(measured, rungs_of(ladder))),
        "predicted_us": [here.low, here.cost, here.high],
        "predicted_whole_us": whole.cost,
        "padding": here.padding,
        "unserved": here.unserved,
        "unserved_share": whole.unserved / len(late),
        "beyond_share": here.beyond,
    }


def curve_points(setting: Setting, served: Any, grid: Sequence[Size]) -> list[dict[str, Any]]:
    """The cost of each rung, of a request that is one short of it: padding is part of it."""
    timed = Timed(setting)
    rungs = {size: with_a_free_size(size) for size in grid}
    asked = {size: tuple(max(n - 1, 1) for n in rung) for size, rung in rungs.items()}
    inputs = setting.inputs(list(asked.values()))
    calls = {
        size: lambda x=inputs[asked[size]], rung=rung: padded(served, x, rung) for size, rung in rungs.items()
    }
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
    served: Callable[[Sequence[Size]], Any],
    ladders: dict[str, Any],
    requests: Sequence[Size],
    with_unpadded: bool,
    save: Callable[[], None],
) -> None:
    needed = {size for each in ladders.values() for size in combinations(requests, each["rungs"])}
    model = served(sorted(needed))
    calls: dict[str, Any] = {name: PadTo(model, each["rungs"]) for name, each in ladders.items()}
    distinct = sorted(set(requests))
    if with_unpadded and len(distinct) <= MOST_RECORDED:
        calls["unpadded"] = served(distinct)
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
        save()
