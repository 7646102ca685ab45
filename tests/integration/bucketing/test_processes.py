"""Two processes: a warm cache in the second, DDP over gloo in both."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

WARM = """
import json, sys, torch
from compilescope.bucketing import bucketed
from compilescope.ladder import BucketLadder
from compilescope.observer import RungCompiled

def f(x):
    return (x * 2).softmax(1)

ladder = BucketLadder.pins([16]) | BucketLadder.range(20, 24) | BucketLadder.range(25, 31)
model = bucketed(f, ladder, {"x": {0: "tokens"}})
model(torch.randn(int(sys.argv[1]), 8, requires_grad=True))
events = [e for e in model.backend.events() if isinstance(e, RungCompiled)]
print(json.dumps([[e.rung, e.kernels, e.same_code_as, list(e.predicate), e.cache] for e in events]))
"""

DDP = """
import json, sys, torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from compilescope.bucketing import bucketed
from compilescope.ladder import BucketLadder

rank, store, order = int(sys.argv[1]), sys.argv[2], sys.argv[3]
dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.middle, self.down = (torch.nn.Linear(*s) for s in ((8, 600), (600, 600), (600, 8)))

    def forward(self, x):
        return self.down(self.middle(self.up(x).relu()).relu())

torch.manual_seed(0)
net = Net()
ladder = BucketLadder.pins([16, 32])
if order == "inside":
    model = DistributedDataParallel(bucketed(net, ladder, {"x": {0: "tokens"}}, inner="aot_eager"))
    backend = model.module.backend
else:
    parallel = DistributedDataParallel(net, bucket_cap_mb=1)
    model = bucketed(parallel, ladder, {"inputs": {0: "tokens"}}, inner="aot_eager")
    backend = model.backend
for step, size in enumerate((16, 20, 32)):
    torch.manual_seed(10 * step + rank)
    model(torch.randn(size, 8)).square().sum().backward()
gradients = [p.grad.clone() for p in net.parameters()]

torch.manual_seed(0)
plain = Net()
for step, size in enumerate((16, 20, 32)):
    for other in range(2):
        torch.manual_seed(10 * step + other)
        (plain(torch.randn(size, 8)).square().sum() / 2).backward()
for ours, theirs in zip(gradients, plain.parameters()):
    torch.testing.assert_close(ours, theirs.grad, rtol=1e-4, atol=1e-4)
exact = {}
for c in backend.dispatch_counts():
    if c.outcome == "exact":
        exact[c.entry] = exact.get(c.entry, 0) + c.count
print(json.dumps(sorted(exact.values())), flush=True)
dist.destroy_process_group()
"""


def run_all(code: str, *argument_lists: list[str], **environment: str) -> list[Any]:
    """What each process prints last, as JSON; they run side by side."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", code, *arguments],
            env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        for arguments in argument_lists
    ]
    texts = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), texts[0][1][-3000:]
    return [json.loads(out.strip().splitlines()[-1]) for out, _ in texts]


def test_a_second_process_with_a_warm_cache_has_hits_only(tmp_path: Path) -> None:
    runs = [
        run_all(WARM, [first], TORCHINDUCTOR_CACHE_DIR=str(tmp_path), PYTHONHASHSEED=first)[0]
        for first in ("5", "9")
    ]
    assert "miss" in {event[-1] for event in runs[0]}
    assert {event[-1] for event in runs[1]} == {"hit"}
    # A warm start must tell the same story as a cold one.
    assert [event[:-1] for event in runs[0]] == [event[:-1] for event in runs[1]]
    assert any(event[2] for event in runs[0])


def test_ddp_around_a_bucketed_module(tmp_path: Path) -> None:
    check_ddp(tmp_path, "inside")


def test_a_bucketed_module_around_ddp(tmp_path: Path) -> None:
    check_ddp(tmp_path, "outside")


def check_ddp(tmp_path: Path, order: str) -> None:
    store = str(tmp_path / "store")
    # Dynamo cuts the graph at DDP's buckets: each piece has rungs of its own, hit at sizes 16 and 32.
    assert run_all(DDP, ["0", store, order], ["1", store, order]) == [[2, 2], [2, 2]]
