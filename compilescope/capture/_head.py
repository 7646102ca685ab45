"""Line one of a recording: which process, which versions, which hooks this torch has."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Any

from compilescope import __version__

ENV_PREFIXES = ("TORCH", "PYTORCH", "TRITON", "CUDA", "NCCL", "OMP_", "MKL_")
_DRIVER = Path("/proc/driver/nvidia/version")
ENV_NAMES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "CC", "CXX")


def head(hooks: dict[str, str], *, late: bool) -> dict[str, Any]:
    """Names of environment variables, never their values: recordings are sent to other people."""
    import torch

    return {
        "argv": list(getattr(sys, "orig_argv", sys.argv)),
        "cwd": _working_directory(),
        "versions": {
            "torch": str(torch.__version__),
            "python": platform.python_version(),
            "triton": _triton_version(),
            "compilescope": __version__,
            **_gpu_versions(torch),
        },
        "device": _device(torch),
        "env": sorted(n for n in os.environ if n.startswith(ENV_PREFIXES) or n in ENV_NAMES),
        "hooks": hooks,
        "config": dynamo_config(),
        "late": late,
        "world_size": _integer(os.environ.get("WORLD_SIZE")),
    }


def _working_directory() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:  # removed under the program's feet
        return None


def rank() -> int | None:
    return _integer(os.environ.get("RANK"))


def _integer(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _triton_version() -> str | None:
    """Without importing it: that may start a driver."""
    from importlib.metadata import PackageNotFoundError, version

    for name in ("triton", "pytorch-triton"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return None


def _gpu_versions(torch: Any) -> dict[str, str]:
    """CUDA or ROCm of the build, and NVIDIA's driver as the kernel states it: no GPU is initialized."""
    versions = {"cuda": torch.version.cuda, "rocm": torch.version.hip}
    if torch.version.cuda is not None:
        versions["driver"] = _driver_version()
    return {name: str(version) for name, version in versions.items() if version is not None}


def _driver_version() -> str | None:
    try:
        first = _DRIVER.read_text(errors="replace").partition("\n")[0]
    except OSError:
        return None
    numbers = (word for word in first.split() if word[:1].isdigit() and word.count(".") >= 1)
    return next(numbers, None)


def _device(torch: Any) -> str:
    """The build, and the GPU only if the program itself has already initialized one."""
    if torch.version.cuda is None and torch.version.hip is None:
        return "CPU"
    if torch.cuda.is_initialized():
        return str(torch.cuda.get_device_name())
    return f"CUDA {torch.version.cuda} build" if torch.version.cuda else f"ROCm {torch.version.hip} build"


def started_device() -> dict[str, Any]:
    """The GPU's name once the program has started one, which is after the head was written; else nothing."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return {"device": str(cuda.get_device_name())} if cuda is not None and cuda.is_initialized() else {}


def current_stance() -> str | None:
    """The stance in force, as ``torch.compiler.set_stance`` names it."""
    eval_frame = sys.modules.get("torch._dynamo.eval_frame")
    stance = getattr(getattr(eval_frame, "_stance", None), "stance", None)
    return stance if isinstance(stance, str) else None


def dynamo_config() -> dict[str, Any]:
    """The settings that decide whether and how often code is compiled. Values are bools and counts."""
    config = getattr(sys.modules.get("torch._dynamo"), "config", None)
    if config is None:
        return {"disable": os.environ.get("TORCH_COMPILE_DISABLE", "0") == "1"}
    names = (
        "disable",
        "recompile_limit",
        "accumulated_recompile_limit",
        "suppress_errors",
        "capture_scalar_outputs",
        "automatic_dynamic_shapes",
        "assume_static_by_default",
    )
    return {
        name: getattr(config, name) for name in names if isinstance(getattr(config, name, None), bool | int)
    }
