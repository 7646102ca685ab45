"""Run as a script by ``compilescope doctor``: prints one JSON object a fact, as soon as it is known.

The modules are named as text, because the command line itself must never import torch.
"""

from __future__ import annotations

import json
import os
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def tell(fact: str, value: object) -> None:
    print(json.dumps({"fact": fact, "is": str(value)}), flush=True)


def attempt(fact: str, ask: Callable[[], object]) -> None:
    try:
        tell(fact, ask())
    except Exception as problem:
        first_line = str(problem).strip().splitlines()[:1]
        tell(fact, f"none: {type(problem).__name__}: {' '.join(first_line)}")


def device() -> str:
    cuda = import_module("torch").cuda
    if not cuda.is_available():
        return "CPU"
    return f"{cuda.device_count()} x {cuda.get_device_name(0)}, CUDA {import_module('torch').version.cuda}"


def assembler() -> str:
    version = import_module("triton.knobs").nvidia.ptxas.version
    two = import_module("compilescope.capture._inductor_candidates").different_assemblers()
    if not two:
        return f"CUDA {version}"
    return f"CUDA {two[0]} in compile workers, {two[1]} in the process: autotuning compiles twice"


def cache() -> str:
    # Inductor's own cache_dir() would create it.
    default = import_module("torch._inductor.runtime.cache_dir_utils").default_cache_dir
    return os.environ.get("TORCHINDUCTOR_CACHE_DIR") or str(default())


def hooks() -> None:
    for name, state in import_module("compilescope.capture").probe().items():
        tell(f"hook {name}", state)


def main() -> None:
    tell("torch", import_module("torch").__version__)
    attempt("triton", lambda: import_module("triton").__version__)
    attempt("device", device)
    if import_module("torch").version.cuda is not None:
        attempt("ptxas", assembler)
    attempt("compiler", lambda: import_module("torch._inductor.cpp_builder").get_cpp_compiler())
    attempt("cache", cache)
    try:
        hooks()
    except Exception as problem:
        tell("problem hooks", f"cannot look for hooks: {type(problem).__name__}: {problem}")


if __name__ == "__main__":
    main()
