"""Real traffic on a GPU: a ladder with CUDA graphs against the other ways to serve many sizes.

    python gpu_traffic.py [--part predict traffic] [--file bimodal lognormal_drift] [--contestants ...]
                          [--out FILE] [--deadline-s 460]

``traffic``: 300 requests of the later half of a file, each contestant in a process with caches of its own:
the first pass with all its compiles, then five steady passes, then sizes never seen before. Each request is
waited for. ``predict``: the planner's expected device time of its ladder and of others with as many rungs,
beside the measured one. JSON is written as results come in; after the deadline nothing new is begun.
Without a GPU it runs a tiny model on the CPU, which only shows that it runs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from compilescope.ladder.planner import CostPoint, Costs, Curve, Limits, Traffic, plan_ladder

HERE = Path(__file__).parent
TRAFFIC = HERE.parents[2] / "fixtures" / "traffic"
FIRST = (
    "ladder, shared code",
    "reduce-overhead",
    "ladder",
    "eager",
    "automatic dynamic",
    "powers of two",
)
SECOND = ("dynamic=True", "specialize_on", "dynamic=False")
"""What is measured last, if there is time: of every file the first ones come first."""
ALIGN, UNSEEN = 8, 20
LEAST_S = 10
"""Nothing is begun with less time than this before the deadline."""


class Worker:
    """A process that has imported torch and waits to be told to begin."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="traffic-")
        folder = Path(self._folder.name)
        self._out = folder / "result.json"
        (folder / "job.json").write_text(json.dumps(job | {"out": str(self._out)}))
        caches = {
            "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
            "TRITON_CACHE_DIR": str(folder / "triton"),
        }
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "traffic_worker.py"), str(folder / "job.json")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | caches,
        )

    def run(self, timeout_s: float) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdout.readline()
        try:
            self._process.communicate("go\n", timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            return self._result() | {"error": f"cut off after {timeout_s:.0f} s"}
        return self._result()

    def _result(self) -> dict[str, Any]:
        if not self._out.exists():
            return {"error": f"ended with {self._process.returncode}"}
        result: dict[str, Any] = json.loads(self._out.read_text())
        return result

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()
        self._folder.cleanup()


def traffic_jobs(
    name: str, sizes: list[int], contestants: list[str], options: argparse.Namespace, costs: Costs
) -> list[dict[str, Any]]:
    half = len(sizes) // 2
    early, requests = sizes[:half], sizes[half : half + options.requests]
    limits = Limits(max_rungs=options.rungs, align=options.align, maximum=max(sizes))
    ladder = plan_ladder(Traffic.of(early), costs, limits, calls=1e9).chosen.ladder
    others = sorted(set(range(min(requests), max(requests))) - set(requests))
    shared = {
        "part": "traffic",
        "file": name,
        "setting": options.setting,
        "requests": requests,
        "unseen": random.Random(0).sample(others, min(UNSEEN, len(others))),
        "rungs": [rung.size for rung in ladder.pad_rungs],
        "frequent": [size for size, _ in Counter(early).most_common(options.rungs)],
        "lowest": min(sizes),
        "highest": max(sizes),
    }
    return [shared | {"contestant": contestant} for contestant in contestants]


def predict_job(name: str, sizes: list[int], options: argparse.Namespace) -> dict[str, Any]:
    early = sorted(sizes[: len(sizes) // 2])
    at = [early[int((len(early) - 1) * k / 6)] for k in range(7)]
    low, high = min(sizes), max(sizes)
    at += [round(low * (high / low) ** (k / 6)) for k in range(7)]
    # Powers of two pad up to here: without a point the curve would have to be extrapolated.
    at.append(1 << (high - 1).bit_length())
    return {
        "part": "predict",
        "file": name,
        "setting": options.setting,
        "sizes": sizes,
        "requests": options.predicted,
        "grid": sorted({-(-n // options.align) * options.align for n in at}),
        "max_rungs": options.predict_rungs,
        "align": options.align,
        "highest": high,
        "code": options.code,
    }


def show_row(row: dict[str, Any]) -> None:
    if "steady_us" not in row:
        print(f"{row['contestant']:20} {row.get('error')}", flush=True)
        return
    low, median, high = row["steady_us"]
    print(
        f"{row['contestant']:20} first pass {row['first_pass_s']:6.1f} s (warm-up {row['warm_up_s']:5.1f}), "
        f"steady {median:6.0f} us [{low:.0f}, {high:.0f}], {row['graphs']:3} graphs, "
        f"memory {row['device_mib']:6.0f} MiB, sizes not seen before {max(row['unseen_us']) / 1e3:6.2f} ms "
        f"at worst, {row['unseen_worst_x']:.1f} x their next calls"
        f", error {row['largest_error']:.4f}" + (f", {row['error']}" if "error" in row else ""),
        flush=True,
    )


def show_prediction(result: dict[str, Any]) -> None:
    for name, each in result.get("ladders", {}).items():
        if not each.get("device_us"):
            continue
        times = sorted(each["device_us"])
        median = statistics.median(times)
        predicted = f"predicted {each['predicted_us'][1]:6.1f} us, " if "predicted_us" in each else ""
        ratio = f", predicted/measured {each['predicted_us'][1] / median:.3f}" if predicted else ""
        print(
            f"{name:18} {predicted}measured {median:6.1f} us [{times[0]:.1f}, {times[-1]:.1f}] (host "
            f"{statistics.median(each['host_us']):.1f}){ratio}  rungs {each['rungs']}",
            flush=True,
        )
    if "error" in result:
        print(result["error"], flush=True)


class Session:
    """Runs jobs until the deadline and writes down what there is after each."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self._ends = time.perf_counter() + options.deadline_s
        self._whole: dict[str, Any] = {"setting": options.setting, "rows": [], "predictions": []}
        self._costs = earlier_curves(options.curves) if options.curves is not None else {}
        self._shown = ""

    def predict(self) -> None:
        self._run([predict_job(name, self._sizes(name), self.options) for name in self.options.file])

    def traffic(self) -> None:
        jobs = []
        for group in (FIRST, SECOND):
            for name in self.options.file:
                wanted = [each for each in group if each in self.options.contestants]
                costs = self._costs.get(name, Costs.assumed())
                jobs += traffic_jobs(name, self._sizes(name), wanted, self.options, costs)
        self._run(jobs)

    def _sizes(self, name: str) -> list[int]:
        sizes = json.loads((TRAFFIC / f"{name}.json").read_text())["sizes"]
        return sizes if self.options.device == "cuda" else [max(2, n // 16) for n in sizes]

    def _run(self, jobs: list[dict[str, Any]]) -> None:
        waiting = Worker(jobs[0])
        try:
            for number, job in enumerate(jobs):
                worker, left_s = waiting, self._ends - time.perf_counter()
                if left_s < LEAST_S:
                    print("the deadline has come", flush=True)
                    return
                if number + 1 < len(jobs):
                    waiting = Worker(jobs[number + 1])
                self._keep(job, worker.run(left_s))
                worker.close()
        finally:
            waiting.close()

    def _keep(self, job: dict[str, Any], result: dict[str, Any]) -> None:
        if job["part"] == "traffic":
            known = {key: job[key] for key in ("file", "rungs", "contestant")}
            self._whole["rows"].append(known | result)
            if self._shown != job["file"]:
                self._shown = job["file"]
                print(f"\n{job['file']}: {len(job['requests'])} requests, ladder {job['rungs']}", flush=True)
            show_row(known | result)
        else:
            self._whole["predictions"].append({"file": job["file"]} | result)
            print(f"\n{job['file']}: {job['code']} code, cost curve at {job['grid']}", flush=True)
            show_prediction(result)
            if "cost" in result:
                self._costs[job["file"]] = measured_costs(result["cost"]["static"])
        if self.options.out is not None:
            self.options.out.write_text(json.dumps(self._whole, indent=1))


def earlier_curves(path: Path) -> dict[str, Costs]:
    predictions = json.loads(path.read_text())["predictions"]
    return {each["file"]: measured_costs(each["cost"]["static"]) for each in predictions if "cost" in each}


def measured_costs(points: list[dict[str, float]]) -> Costs:
    found = [CostPoint(int(p["size"]), p["cost_us"], p["low_us"], p["high_us"]) for p in points]
    return Costs(Curve.measured(found))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", nargs="+", choices=("predict", "traffic"), default=["predict", "traffic"])
    parser.add_argument("--file", nargs="+", default=["bimodal", "lognormal_drift"])
    parser.add_argument("--contestants", nargs="+", choices=(*FIRST, *SECOND), default=[*FIRST, *SECOND])
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--predicted", type=int, default=1500, help="requests of the predicting part")
    parser.add_argument("--rungs", type=int, default=8)
    parser.add_argument("--predict-rungs", type=int, default=5)
    parser.add_argument("--code", choices=("shared", "static"), default="shared")
    parser.add_argument("--curves", type=Path, help="plan with the cost curves of an earlier output")
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--deadline-s", type=float, default=460)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    import torch

    options.device = "cuda" if torch.cuda.is_available() else "cpu"
    options.align = ALIGN if options.device == "cuda" else 1
    if options.device == "cpu":
        options.blocks, options.width = 1, 64
    options.setting = {"blocks": options.blocks, "width": options.width, "device": options.device}
    print(f"torch {torch.__version__}, {options.setting}", flush=True)
    started = time.perf_counter()
    session = Session(options)
    if "predict" in options.part:
        session.predict()
    if "traffic" in options.part:
        session.traffic()
    print(f"\n{time.perf_counter() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
