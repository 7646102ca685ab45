"""Runs the eight programs, without or with capture, and says what an independent observer saw of each.

usage: python observe.py without|with RECORDING ANSWER.json
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import logging
import random
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch._dynamo
from eight import PROGRAMS

CACHES = ("fx_graph_cache_miss", "fx_graph_cache_hit", "aotautograd_cache_miss", "aotautograd_cache_hit")
CACHES += ("fx_graph_cache_bypass", "aotautograd_cache_bypass")


class Observer(logging.Handler):
    """What torch's own trace says, kept by a handler that knows nothing of capture."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[list[Any]] = []

    @torch._dynamo.disable
    def emit(self, record: logging.LogRecord) -> None:
        m = record.metadata  # type: ignore[attr-defined]
        compile_id = [m.get(k) for k in ("compiled_autograd_id", "frame_id", "frame_compile_id", "attempt")]
        artifact = m["artifact"]["name"] if "artifact" in m else None
        if "dynamo_start" in m:
            stack = [[frame["line"], frame["name"]] for frame in m["dynamo_start"]["stack"]]
            self.events.append(["start", compile_id, stack])
        elif "compilation_metrics" in m:
            told = m["compilation_metrics"]
            names = ("co_name", "co_firstlineno", "cache_size", "guard_count", "graph_op_count")
            names += ("has_guarded_code", "fail_type", "recompile_reason")
            self.events.append(["compiled", compile_id, [str(told.get(name)) for name in names]])
        elif artifact in ("dynamo_graph_break_reason", "recompile_reasons"):
            reason = record.payload.split("\n\n\n")[0].split("User code traceback")[0]  # type: ignore[attr-defined]
            self.events.append([artifact, compile_id, reason])
        elif artifact in CACHES:
            cached = json.loads(record.payload)  # type: ignore[attr-defined]
            self.events.append([artifact, compile_id, cached.get("key")])


_OF_SETUPTOOLS = ("VendorImporter",)  # older ones put it there when torch builds C++ with them


def _finder_name(finder: Any) -> str:
    return str(getattr(finder, "__name__", type(finder).__name__))


def digest(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return repr(value)
    plain = value.detach().contiguous()
    return hashlib.sha256(f"{plain.dtype}{plain.shape}".encode() + plain.numpy().tobytes()).hexdigest()


def surroundings() -> dict[str, Any]:
    """What a program could notice about its process."""
    from torch._C._dynamo.eval_frame import set_guard_complete_hook
    from torch._dynamo import convert_frame, eval_frame, guards, output_graph

    hook = set_guard_complete_hook(None)
    set_guard_complete_hook(hook)
    patched = {
        "call_user_compiler": output_graph.OutputGraph.call_user_compiler,
        "ConvertFrame": convert_frame.ConvertFrame.__call__,
        "ConvertFrameAssert": convert_frame.ConvertFrameAssert.__call__,
        "CheckFunctionManager": guards.CheckFunctionManager.__init__,
        "get_guard_fail_reason_helper": guards.get_guard_fail_reason_helper,
        "reset": torch._dynamo.reset,
        "optimize": torch._dynamo.optimize,
        "set_stance": eval_frame._set_stance,
    }
    return {
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "meta_path": [name for name in map(_finder_name, sys.meta_path) if name not in _OF_SETUPTOOLS],
        "guard_complete_hook": repr(hook),
        "trace_handlers": [type(h).__name__ for h in logging.getLogger("torch.__trace").handlers],
        "dynamo_handlers": [type(h).__name__ for h in logging.getLogger("torch._dynamo").handlers],
        "logger_levels": [logging.getLogger(n).level for n in ("torch", "torch._dynamo", "torch.__trace")],
        "frame_evaluation": repr(torch._dynamo.eval_frame.set_eval_frame(None)),
        "wrapped": [name for name, function in patched.items() if hasattr(function, "__wrapped__")],
        "garbage": len(gc.garbage),
        "hooks": [len(sys.path_hooks), sys.excepthook is sys.__excepthook__, sys.getrecursionlimit()],
        "grad": [torch.is_grad_enabled(), torch.get_num_threads()],
    }


def observe(name: str) -> dict[str, Any]:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch.manual_seed(7)
    random.seed(7)
    observer = Observer()
    trace = logging.getLogger("torch.__trace")
    trace.addHandler(observer)
    torch._logging.trace_structured("artifact", lambda: {"name": "wake", "encoding": "string"})
    try:
        results = PROGRAMS[name]()
    finally:
        trace.removeHandler(observer)
    return {
        "results": [digest(value) for value in results],
        "events": observer.events,
        "random": [digest(torch.get_rng_state()), random.random()],
        "counters": {k: dict(v) for k, v in torch._dynamo.utils.counters.items() if v},
        "during": {k: v for k, v in surroundings().items() if k in ("threads", "frame_evaluation", "grad")},
    }


@contextlib.contextmanager
def captured(folder: Path) -> Iterator[None]:
    import compilescope.capture

    compilescope.capture.attach(folder)
    try:
        yield
    finally:
        compilescope.capture.detach()


def main() -> None:
    how, folder, answer = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    PROGRAMS["dynamic_shapes"]()  # whatever torch imports lazily is there before and after
    torch._dynamo.reset()
    before = surroundings()
    with captured(folder) if how == "with" else contextlib.nullcontext():
        programs = {name: observe(name) for name in PROGRAMS}
    torch._dynamo.reset()
    told = {"programs": programs, "before": before, "after": surroundings()}
    answer.write_text(json.dumps(told))


if __name__ == "__main__":
    main()
