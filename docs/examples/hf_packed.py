"""Fine-tune a small random Llama on packed sequences, several ways, and compare.

Batches of packed sequences have another number of tokens each. Ways to live with that:

eager       nothing compiled, nothing padded
dynamic     torch.compile(dynamic=True), nothing padded
static      torch.compile(dynamic=False), nothing padded: a compile for each size until the recompile limit
ladder      bucketed: each batch padded to one of --rungs, one static artifact for each
graphs      the same, its forward and its backward recorded as CUDA graphs
pad-to-max  torch.compile(dynamic=False), every batch padded to the largest rung

Each runs in a process and with a compile cache of its own; the losses must agree. On a laptop as it is,
on a GPU

    python docs/examples/hf_packed.py --rungs 40960,65536 --hidden 1024 --layers 4 --heads 16 --vocab 32000 \\
        --longest 4096 --dtype bfloat16 --device cuda --steps 40

Needs transformers and accelerate; nothing is downloaded.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

MODES = ("eager", "dynamic", "static", "ladder", "graphs", "pad-to-max")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Packed-sequence fine-tuning with a ladder of two rungs.")
    parser.add_argument("--rungs", default="160,256", help="tokens of a batch to pad up to")
    # CUDA graphs need a GPU, and a model that waits for launches: they are measured when asked for.
    parser.add_argument("--modes", default=",".join(mode for mode in MODES if mode != "graphs"))
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--accumulate", type=int, default=1, help="batches of a step")
    parser.add_argument("--longest", type=int, default=64, help="tokens of the longest sequence")
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--vocab", type=int, default=128)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"))
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--inner", default="inductor", help="the compiler: inductor, aot_eager")
    parser.add_argument("--tolerance", type=float, default=None, help="how far a loss may be off eager's")
    parser.add_argument("--json", help="also write the figures to this file")
    parser.add_argument("--one", choices=MODES, help=argparse.SUPPRESS)
    return parser.parse_args()


def sequences(options: argparse.Namespace, rungs: list[int]) -> list[dict[str, Any]]:
    """One item per batch: token lists that fill 75 to 100 % of a rung, the same in every process."""
    import torch

    generator = torch.Generator().manual_seed(0)

    def below(high: int) -> int:
        return int(torch.randint(max(high, 1), (1,), generator=generator))

    items = []
    for step in range(options.steps * options.accumulate):
        rung = rungs[step % len(rungs)]
        left = rung - below(rung // 4)
        packed = []
        while left > 0:
            length = min(left, options.longest // 4 + below(options.longest - options.longest // 4))
            start = below(options.vocab)
            packed.append([(start + 3 * place) % options.vocab for place in range(length)])
            left -= length
        items.append({"sequences": packed})
    return items


def packed_attention(
    _module: Any, query: Any, key: Any, value: Any, _mask: Any, **given: Any
) -> tuple[Any, None]:
    """Each sequence of the row by itself: flash attention on a GPU, a mask elsewhere."""
    import torch

    from compilescope.bucketing.padding import packed_causal_mask

    repeat = query.shape[1] // key.shape[1]
    key, value = (each.repeat_interleave(repeat, dim=1) for each in (key, value))
    if "cu_seq_lens_q" not in given:
        mask = packed_causal_mask(given["sequence_ids"][0])
        out = torch.nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, scale=given.get("scaling")
        )
        return out.transpose(1, 2), None
    from torch.nn.attention.varlen import varlen_attn

    causal = {"window_size": (-1, 0)} if TAKES_WINDOW else {"is_causal": True}
    rows = (each[0].transpose(0, 1).contiguous() for each in (query, key, value))
    lengths = given["cu_seq_lens_q"]
    longest = given["max_length_q"]
    return varlen_attn(*rows, lengths, lengths, longest, longest, **causal)[None], None


def takes_window() -> bool:
    """Newer versions of varlen_attn have a window where older ones have is_causal."""
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return False
    return "window_size" in inspect.signature(varlen_attn).parameters


TAKES_WINDOW = takes_window()


def llama(options: argparse.Namespace) -> Any:
    import torch
    from transformers import AttentionInterface, LlamaConfig, LlamaForCausalLM

    AttentionInterface.register("packed", packed_attention)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=options.vocab,
        hidden_size=options.hidden,
        intermediate_size=4 * options.hidden,
        num_hidden_layers=options.layers,
        num_attention_heads=options.heads,
        num_key_value_heads=max(options.heads // 2, 1),
        max_position_embeddings=max(options.longest, 64),
        use_cache=False,
        attn_implementation="packed",
    )
    return LlamaForCausalLM(config).to(device=options.device, dtype=getattr(torch, options.dtype))


def compiled(model: Any, mode: str, rungs: list[int], inner: str) -> Any:
    """``model`` with its forward compiled: it stays the Trainer's PreTrainedModel, and can be saved."""
    import torch

    from compilescope import BucketLadder, bucketed

    tokens = {1: "tokens"}
    if mode in ("ladder", "graphs"):
        names = ("input_ids", "labels", "position_ids", "sequence_ids")
        dims = dict.fromkeys(names, tokens)
        # The collator pads to the rungs, so that every size is exact and no other artifact is needed.
        options = {"inner": inner, "fallback": "eager", "cuda_graphs": mode == "graphs"}
        model.forward = bucketed(model.forward, BucketLadder.pins(rungs), dims, **options)
    elif mode != "eager":
        model.forward = torch.compile(model.forward, dynamic=mode == "dynamic", backend=inner)
    return model


def train(options: argparse.Namespace) -> dict[str, Any]:
    """One way, in this process: losses, seconds, compiles, padding."""
    import torch
    from torch._dynamo.utils import counters
    from transformers import Trainer, TrainerCallback, TrainingArguments

    from compilescope.integrations.huggingface import CompileScopeCallback, PackedCollator
    from compilescope.ladder import BucketLadder

    rungs = [int(each) for each in options.rungs.split(",")]
    padded_to = {"ladder": rungs, "graphs": rungs, "pad-to-max": rungs[-1:]}.get(options.one)
    on_gpu = options.device == "cuda"
    packed = PackedCollator(
        None if padded_to is None else BucketLadder.pins(padded_to),
        sequence_ids=not on_gpu,
        cu_seqlens=on_gpu,
        max_sequences=4 * rungs[-1] // options.longest + 8,
        max_length=options.longest,
    )

    class Clock(TrainerCallback):
        def __init__(self) -> None:
            self.step_s: list[float] = []

        def on_step_begin(self, *_: Any, **__: Any) -> None:
            self.started = self.now()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            self.step_s.append(self.now() - self.started)

        @staticmethod
        def now() -> float:
            if on_gpu:
                torch.cuda.synchronize()
            return time.perf_counter()

    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            folder,
            max_steps=options.steps,
            per_device_train_batch_size=1,
            gradient_accumulation_steps=options.accumulate,
            learning_rate=options.learning_rate,
            lr_scheduler_type="constant",
            logging_steps=1,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            remove_unused_columns=False,
            use_cpu=not on_gpu,
            seed=0,
        )
        trainer = Trainer(
            compiled(llama(options), options.one, rungs, options.inner),
            settings,
            train_dataset=sequences(options, rungs),
            data_collator=lambda items: packed([{"input_ids": each} for each in items[0]["sequences"]]),
            callbacks=[clock, CompileScopeCallback()],
        )
        started = time.perf_counter()
        trainer.train()
        total_s = time.perf_counter() - started
    half = clock.step_s[len(clock.step_s) // 2 :]
    return {
        "mode": options.one,
        "loss": [entry["loss"] for entry in trainer.state.log_history if "loss" in entry],
        "step_ms": 1e3 * median(half),
        "slowest_step_s": max(clock.step_s),
        "total_s": total_s,
        "graphs": counters["stats"]["unique_graphs"],
        "compiles": counters["aot_autograd"]["total"],
        "padding": packed.padded_tokens / (packed.real_tokens + packed.padded_tokens),
        "peak_mib": torch.cuda.max_memory_allocated() / 2**20 if on_gpu else None,
    }


def run_apart(mode: str) -> dict[str, Any]:
    """A process and a cache for each way: no compile may be paid for by another."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": cache}
        command = [sys.executable, "-W", "ignore", *sys.argv, "--one", mode]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{mode} failed:\n{done.stderr[-4000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])  # type: ignore[no-any-return]


def shown(rows: list[dict[str, Any]], tolerance: float) -> tuple[str, bool]:
    """The table, and whether every loss curve is eager's."""
    reference = next((row["loss"] for row in rows if row["mode"] == "eager"), None)
    lines = [
        "mode        loss first..last  off eager  traces  compiles  slowest  step ms  total s  padding  peak"
    ]
    agree = True
    for row in rows:
        off = None
        if reference is not None:
            off = max(abs(a - b) for a, b in zip(row["loss"], reference, strict=True))
            agree = agree and off <= tolerance
        peak = "" if row["peak_mib"] is None else f"{row['peak_mib']:,.0f} MiB"
        distance = "" if off is None else f"{off:.1e}"
        lines.append(
            f"{row['mode']:11} {row['loss'][0]:7.4f}..{row['loss'][-1]:<7.4f} {distance:>10}"
            f" {row['graphs']:7} {row['compiles']:9} {row['slowest_step_s']:6.1f} s {row['step_ms']:8.1f}"
            f" {row['total_s']:8.1f} {row['padding']:7.1%}  {peak}"
        )
    return "\n".join(lines), agree


def main() -> None:
    options = arguments()
    if options.one is not None:
        print(json.dumps(train(options)))
        return
    tolerance = options.tolerance or {"float32": 2e-3, "bfloat16": 0.1}[options.dtype]
    rows = [run_apart(mode) for mode in options.modes.split(",")]
    table, agree = shown(rows, tolerance)
    print(table)
    if options.json:
        figures = json.dumps({"options": vars(options), "rows": rows}, indent=1)
        Path(options.json).write_text(figures, encoding="utf-8")
    if not agree:
        raise SystemExit(f"a loss is further than {tolerance:g} from eager's")


if __name__ == "__main__":
    main()
