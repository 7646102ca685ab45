"""Real traffic on a GPU: a ladder with CUDA graphs against the other ways to serve many sizes.

    python gpu_traffic.py [--part predict traffic] [--file bimodal lognormal_drift batch_length packed_sft]
                          [--contestants ...] [--out FILE] [--deadline-s 3600] [--each-s 150]

``traffic``: requests of the later half of a file, each contestant in a process with caches of its own: the
first pass with all its compiles, then five steady passes, then sizes never seen before. Each request is
waited for. A contestant that takes longer than ``--each-s`` is cut off and its row says how far it came.
``predict``: the planner's expected device time of its ladder and of others with as many rungs, beside the
measured one, under graph replay. JSON is written as results come in; after the deadline nothing new is begun.

What differs between the files:

- ``batch_length`` has two dims, and its rungs are combinations: those of the planner, at most ``--rungs`` of
  them, or a product of two ladders for the others. What is compiled is what the first half of the traffic
  needs; a request that no compiled combination holds goes to the dynamic artifact. So does everything that
  the planner keeps its largest combination for, where no request of the first half needs it: it is then not
  counted. The cost is a surface, measured at all pairs of a grid. A request of one row and one
  token is given a second row, and a size 1 without a rung of its own is made 2, because Dynamo makes 1 a
  constant. There is no key and value cache: a step of decoding attends to its own token alone.
- ``packed_sft`` is training traffic of 38,000 to 65,319 tokens. Its predictions are of the forward pass
  without gradients, two blocks and 40 requests spread over the later half. Its traffic part is 24 training
  steps (forward, mean over real rows, backward; no optimizer), without CUDA graphs, which are refused in
  training; ``--forward`` serves it like the others instead. A ladder's warm-up there compiles for calls
  without gradients too.

``dynamic=False`` is what torch does by itself: after 8 recompiles (``recompile_limit``) a new size runs
eagerly. ``dynamic=False, no limit`` compiles each distinct size and comes last. Without a GPU it runs a tiny
model on the CPU, which only shows that it runs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from traffic_files import FILES, File, Size, combinations, measured_costs, rung_of, rungs_of
from traffic_show import show_prediction, show_row, show_traffic_aims

from compilescope.ladder.planner import Costs, plan_ladder, plan_product

HERE = Path(__file__).parent
FIRST = (
    "ladder, shared code",
    "reduce-overhead",
    "ladder",
    "eager",
    "automatic dynamic",
    "powers of two",
)
SECOND = ("pad to max", "dynamic=True", "specialize_on", "dynamic=False")
LAST = ("dynamic=False, no limit",)
"""The order in which they are measured, as long as there is time: of every file the first ones come first."""
IN_TRAINING = ("ladder", "automatic dynamic", "dynamic=True", "pad to max", "eager", "dynamic=False")
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


def traffic_jobs(file: File, options: argparse.Namespace, costs: Costs | None) -> list[dict[str, Any]]:
    sizes = file.sizes(options.device)
    early, late = sizes[: len(sizes) // 2], sizes[len(sizes) // 2 :]
    requests = file.taken(late, options.requests or file.requests)
    highest = [max(size[dim] for size in sizes) for dim in range(len(file.dims))]
    ladders = ladders_of(file, sizes, options, costs)
    shared = {
        "part": "traffic",
        "file": file.name,
        "setting": setting_of(file, options, trains=file.trains),
        "requests": requests,
        "unseen": file.never_seen(late, requests, file.unseen),
        "ladders": {
            name: {"combinations": compiled(early, rungs), "code": code}
            for name, (rungs, code) in ladders.items()
        },
        "frequent": [size[0] for size, _ in Counter(early).most_common(options.rungs or file.rungs)],
        "highest": highest,
    }
    return [shared | {"contestant": each} for each in contestants_of(file, options)]


def compiled(early: Sequence[Size], rungs: Sequence[Size]) -> list[Size]:
    """All rungs of one dim; of two the combinations that the earlier half needs."""
    return list(rungs) if len(rungs[0]) == 1 else combinations(early, rungs)


def contestants_of(file: File, options: argparse.Namespace) -> list[str]:
    """In the order they are measured in."""
    wanted = options.contestants or (IN_TRAINING if file.trains else (*FIRST, *SECOND[1:], *LAST))
    # Its sizes are of one dim, and a product has pairs.
    return [each for each in wanted if len(file.dims) == 1 or each != "specialize_on"]


def ladders_of(
    file: File, sizes: Sequence[Size], options: argparse.Namespace, costs: Costs | None
) -> dict[str, tuple[list[Size], str]]:
    """Of each contestant that has one: its rungs, and whose code it runs."""
    planned = planned_rungs(file, sizes, options, costs or Costs.assumed(len(file.dims)))
    ends = [
        (min(size[dim] for size in sizes), max(size[dim] for size in sizes)) for dim in range(len(file.dims))
    ]
    powers = product(*([1 << k for k in range(_log_above(low), _log_above(high) + 1)] for low, high in ends))
    # A product has so many combinations that an artifact for each would take minutes.
    code = "static" if len(file.dims) == 1 else "shared"
    return {
        "ladder, shared code": (planned, "shared"),
        "ladder": (planned, "static"),
        "powers of two": (list(powers), code),
        "pad to max": ([tuple(high for _, high in ends)], "static"),
    }


def planned_rungs(file: File, sizes: Sequence[Size], options: argparse.Namespace, costs: Costs) -> list[Size]:
    """For the earlier half. Of two dims one more may be planned where one of them is for no request of it."""
    early, most = sizes[: len(sizes) // 2], options.rungs or file.rungs
    planner = plan_ladder if len(file.dims) == 1 else plan_product
    for budget in (most,) if len(file.dims) == 1 else (most + 1, most):
        limits = file.limits(budget, sizes, options.device)
        rungs = rungs_of(planner(file.traffic(early), costs, limits, calls=1e9).chosen.ladder)
        if len(compiled(early, rungs)) <= most:
            break
    return rungs


def _log_above(size: int) -> int:
    return (size - 1).bit_length()


def predict_job(file: File, options: argparse.Namespace) -> dict[str, Any]:
    sizes = file.sizes(options.device)
    return {
        "part": "predict",
        "file": file.name,
        "setting": setting_of(file, options, trains=False),
        "sizes": sizes,
        "requests": options.predicted or file.predicted,
        "grid": file.grid(sizes[: len(sizes) // 2], sizes, options.device),
        "rungs": options.predict_rungs or file.predict_rungs,
        "code": options.code,
    }


def setting_of(file: File, options: argparse.Namespace, *, trains: bool) -> dict[str, Any]:
    on_gpu = options.device == "cuda"
    return {
        "blocks": (options.blocks or file.blocks) if on_gpu else 1,
        "width": options.width if on_gpu else 64,
        "device": options.device,
        "dims": len(file.dims),
        "trains": trains,
    }


class Session:
    """Runs jobs until the deadline and writes down what there is after each."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.files = [FILES[name] for name in options.file]
        if options.forward:
            self.files = [replace(file, trains=False) for file in self.files]
        self._ends = time.perf_counter() + options.deadline_s
        self._whole: dict[str, Any] = {"rows": [], "predictions": []}
        self._costs = earlier_costs(options.curves) if options.curves is not None else {}
        self._shown = ""

    def predict(self) -> None:
        self._run([predict_job(file, self.options) for file in self.files])

    def traffic(self) -> None:
        jobs = [
            job for file in self.files for job in traffic_jobs(file, self.options, self._costs.get(file.name))
        ]
        self._run(sorted(jobs, key=lambda job: _turn(job["contestant"])))
        for file in self.files:
            print(f"\n{file.name}")
            show_traffic_aims([row for row in self._whole["rows"] if row["file"] == file.name])

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
                limit_s = self.options.each_s if job["part"] == "traffic" else left_s
                self._keep(job, worker.run(min(limit_s, left_s)))
                worker.close()
        finally:
            waiting.close()

    def _keep(self, job: dict[str, Any], result: dict[str, Any]) -> None:
        about = f"{job['file']}: {job['setting']}"
        if job["part"] == "traffic":
            row = {key: job[key] for key in ("file", "setting", "contestant")} | result
            ladder = job["ladders"].get(job["contestant"])
            if ladder is not None:
                row |= _coverage(job["requests"], **ladder)
            self._whole["rows"].append(row)
            if self._shown != job["file"]:
                self._shown = job["file"]
                print(f"\n{about}, {len(job['requests'])} requests", flush=True)
            show_row(row)
        else:
            self._whole["predictions"].append({"file": job["file"], "setting": job["setting"]} | result)
            print(f"\n{about}: {job['code']} code, cost at {job['grid']}", flush=True)
            show_prediction(result)
            if "cost" in result:
                self._costs[job["file"]] = measured_costs(result["cost"]["static"])
        if self.options.out is not None:
            self.options.out.write_text(json.dumps(self._whole, indent=1))


def _turn(contestant: str) -> int:
    return next(turn for turn, group in enumerate((FIRST, SECOND, LAST)) if contestant in group)


def _coverage(requests: Sequence[Size], combinations: list[Size], code: str) -> dict[str, Any]:
    """The share of requests that no compiled combination holds."""
    unserved = sum(rung_of(size, combinations) is None for size in requests)
    return {"combinations": combinations, "code": code, "unserved": unserved / len(requests)}


def earlier_costs(path: Path) -> dict[str, Costs]:
    predictions = json.loads(path.read_text())["predictions"]
    return {each["file"]: measured_costs(each["cost"]["static"]) for each in predictions if "cost" in each}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", nargs="+", choices=("predict", "traffic"), default=["predict", "traffic"])
    parser.add_argument("--file", nargs="+", choices=FILES, default=list(FILES))
    parser.add_argument("--contestants", nargs="+", choices=(*FIRST, *SECOND, *LAST))
    parser.add_argument("--forward", action="store_true", help="no file trains")
    parser.add_argument("--requests", type=int, help="of the traffic part")
    parser.add_argument("--predicted", type=int, help="requests of the predicting part")
    parser.add_argument("--rungs", type=int)
    parser.add_argument("--predict-rungs", type=int)
    parser.add_argument("--code", choices=("shared", "static"), default="shared")
    parser.add_argument("--curves", type=Path, help="plan with the costs of an earlier output")
    parser.add_argument("--blocks", type=int)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--deadline-s", type=float, default=3600)
    parser.add_argument("--each-s", type=float, default=150, help="of one contestant")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    import torch

    options.device = "cuda" if torch.cuda.is_available() else "cpu"
    print(f"torch {torch.__version__}", flush=True)
    started = time.perf_counter()
    session = Session(options)
    if "predict" in options.part:
        session.predict()
    if "traffic" in options.part:
        session.traffic()
    print(f"\n{time.perf_counter() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
