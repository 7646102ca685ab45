"""On a GPU: how long does max-autotune take with one ``ptxas`` for workers and process, and with two?

    python gpu_assemblers.py [--tokens 512] [--rounds 3] [--out FILE]

Each compile is in a process of its own with an empty cache, by turns. Seconds are of the first call, after
the compile workers have started; of them those that Inductor spent in timing candidates.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
WAYS = ("one", "two")


def once(tokens: int) -> dict[str, float]:
    """Two blocks of a transformer, compiled and called once."""
    sys.path.insert(0, str(HERE.parent / "bucketing"))
    import torch
    from gpu_rungs import block
    from torch._dynamo.utils import compilation_time_metrics
    from torch._inductor.async_compile import AsyncCompile

    model, _, _, make = block("cuda", torch.bfloat16)
    compiled = torch.compile(model, mode="max-autotune-no-cudagraphs", dynamic=False)
    AsyncCompile.wait_pool_ready()
    started = time.perf_counter()
    with torch.no_grad():
        compiled(make(tokens))
    torch.cuda.synchronize()
    first = time.perf_counter() - started
    timing = {
        name: sum(seconds)
        for name, seconds in compilation_time_metrics.items()
        if name.endswith("_template_autotuning")
    }
    return {"first_call_s": first, "timing_s": sum(timing.values())}


def apart(way: str, tokens: int) -> dict[str, float]:
    import torch

    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": cache}
        env.pop("TRITON_PTXAS_PATH", None)
        if way == "one":
            env["TRITON_PTXAS_PATH"] = str(Path(torch.__file__).parent / "bin" / "ptxas")
        command = [sys.executable, __file__, "--once", "--tokens", str(tokens)]
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        print(json.dumps(once(options.tokens)))
        return
    rows: list[dict[str, Any]] = []
    for _ in range(options.rounds):
        for way in WAYS:
            rows.append({"assemblers": way} | apart(way, options.tokens))
            print(rows[-1], flush=True)
            if options.out is not None:
                options.out.write_text(json.dumps(rows, indent=1))
    for way in WAYS:
        own = [row for row in rows if row["assemblers"] == way]
        for what in ("first_call_s", "timing_s"):
            seconds = [row[what] for row in own]
            median = statistics.median(seconds)
            print(f"{way} ptxas, {what}: {median:.1f} [{min(seconds):.1f}, {max(seconds):.1f}]")


if __name__ == "__main__":
    main()
