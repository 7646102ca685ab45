"""The environment of the user's program: all that makes it find our bootstrap, and nothing else.

These variables stay in ``os.environ`` of the program on purpose: processes that it starts are recorded too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from compilescope.errors import CompileScopeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

BOOTSTRAP = Path(__file__).parent / "_bootstrap"
RECORDING = "COMPILESCOPE_RECORDING"
ROOT_PID = "COMPILESCOPE_ROOT_PID"

_TELLING_PREFIXES = ("TORCH", "PYTORCH", "TRITON", "CUDA_", "NCCL_", "PYTHON", "OMP_", "MKL_")
_TELLING_NAMES = {
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "CXX",
    "CC",
}


def recorded(environ: Mapping[str, str], recording: Path) -> dict[str, str]:
    """``environ`` plus what makes every Python interpreter below record into ``recording`` (absolute)."""
    bootstrap = str(BOOTSTRAP)
    if os.pathsep in bootstrap:
        raise CompileScopeError(
            f"PYTHONPATH cannot name {bootstrap}, where CompileScope is installed: there is a ':' in it"
        )
    inherited = environ.get("PYTHONPATH", "")
    entries = (
        [bootstrap, *(e for e in inherited.split(os.pathsep) if e != bootstrap)] if inherited else [bootstrap]
    )
    child = dict(environ)
    child.pop(ROOT_PID, None)
    child[RECORDING] = str(recording)
    child["PYTHONPATH"] = os.pathsep.join(entries)
    return child


def fresh_caches(folder: Path) -> dict[str, str]:
    """Variables that point torch's compile caches to empty places below ``folder``."""
    return {
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "TRITON_CACHE_DIR": str(folder / "triton"),
    }


def telling_names(environ: Iterable[str]) -> list[str]:
    """Names, never values, of the variables that change what torch or Python do."""
    return sorted(n for n in environ if n.startswith(_TELLING_PREFIXES) or n in _TELLING_NAMES)
