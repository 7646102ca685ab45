"""``compilescope doctor``."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from compilescope import __version__
from compilescope.cli._ask_torch import ask_torch
from compilescope.cli._terminal import write
from compilescope.units import size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SUPPORTED_TORCH = ((2, 11), (2, 16))  # from, up to but not including: as in the package's metadata
# They change what torch writes, caches or compiles; a recording beside them may look different.
_SPEAKING = re.compile(
    r"TORCH_(TRACE|LOGS.*|COMPILE_.*)|TORCHDYNAMO_.*|TORCHINDUCTOR_.*|TORCH_WARM_POOL|TRITON_.*|COMPILESCOPE_.*"
)


@click.command()
def command() -> None:
    """Say what is installed here and what a recording would miss.

    One screen, for bug reports. torch is asked in a process of its own, so that a broken one is a line here
    and not a traceback.
    """
    for label, value in _lines(ask_torch()):
        write(f"{label:<13}{value}\n")


def _lines(torch: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield "compilescope", __version__
    yield "python", f"{platform.python_version()} {sys.executable}"
    yield "system", f"{platform.system()} {platform.release()} {platform.machine()}, {os.cpu_count()} CPUs"
    yield "torch", _torch_line(torch)
    for name in ("triton", "device", "ptxas", "compiler"):
        if name in torch:
            yield name, torch[name]
    if "cache" in torch:
        yield "cache", _folder_line(Path(torch["cache"]))
    hooks = {k.removeprefix("hook "): v for k, v in torch.items() if k.startswith("hook ")}
    if hooks:
        missing = [f"{name}: {state}" for name, state in hooks.items() if state != "ok"]
        yield "hooks", f"{len(hooks) - len(missing)} of {len(hooks)} present"
        yield from (("", line) for line in missing)
    yield "here", _folder_line(Path())
    yield "environment", ", ".join(sorted(filter(_SPEAKING.fullmatch, os.environ))) or "nothing set for torch"
    yield from (("problem", v) for k, v in torch.items() if k.startswith("problem"))


def _torch_line(torch: Mapping[str, str]) -> str:
    version = torch.get("torch")
    if version is None:
        return "not usable here: recordings can be read, not made"
    numbers = re.match(r"(\d+)\.(\d+)", version)
    low, high = SUPPORTED_TORCH
    known = numbers is not None and low <= (int(numbers[1]), int(numbers[2])) < high
    text = f">={low[0]}.{low[1]},<{high[0]}.{high[1]}"
    return f"{version} ({'supported' if known else 'NOT in the supported range'}: {text})"


def _folder_line(folder: Path) -> str:
    where = folder.absolute()
    existing = next(p for p in (where, *where.parents) if p.exists())
    access = "writable" if os.access(existing, os.W_OK) else "NOT writable"
    return f"{where} ({access}, {size(shutil.disk_usage(existing).free)} free)"
