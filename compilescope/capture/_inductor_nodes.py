"""Scheduler nodes and wrapper lines of Inductor as plain rows. Reads attributes; calls into no user code."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path
from typing import Any

from compilescope.capture._clipped import clipped
from compilescope.capture._stacks import Stacks

MAX_ORIGINS = 64  # FX nodes kept per scheduler node; the number of all of them is kept beside them
MAX_STATEMENT = 400
MAX_FRAMES = 40
_CALL_LINES = frozenset(
    {
        "ExternKernelAllocLine",
        "ExternKernelOutLine",
        "ExternKernelMultiOutLine",
        "IndexPutFallbackLine",
        "ScatterFallbackLine",
    }
)


def described_node(node: Any, stacks: Stacks) -> dict[str, Any]:
    """One node after fusion: its class, what it stands for in FX, and what its parts read and write."""
    leaves = list(node.get_nodes())
    first = getattr(leaves[0], "node", None) if leaves else None
    origins = _origins(leaves)
    places = _user_lines(origins)
    described: dict[str, Any] = {
        "type": type(node).__name__,
        "ir": type(first).__name__,
        "kernel": _kernel_name(first),
        "template": bool(node.is_template()),
        "reduction": any(leaf.is_reduction() for leaf in leaves if hasattr(leaf, "is_reduction")),
        "device": str(node.get_device()),
        "bytes": _accessed_bytes(node),
        "parts": [_part(leaf) for leaf in leaves],
        "ops": [_op(origin, places) for origin in origins[:MAX_ORIGINS]],
        "ops_count": len(origins),
        "lines": [[stacks.file_id(file), line, function] for file, line, function in places],
    }
    return {k: v for k, v in described.items() if v is not None}


def _origins(leaves: list[Any]) -> list[Any]:
    """FX nodes, each once. For an extern kernel its own node: its origins drag in those upstream."""
    found: dict[str, Any] = {}
    for leaf in leaves:
        ir_node = getattr(leaf, "node", None)
        if ir_node is None:
            continue
        own = getattr(ir_node, "origin_node", None)
        is_extern = bool(leaf.is_extern())
        for origin in [own] if own is not None and is_extern else getattr(ir_node, "origins", None) or ():
            found.setdefault(origin.name, origin)
    return sorted(found.values(), key=lambda origin: str(origin.name))


def _kernel_name(ir_node: Any) -> str | None:
    name = getattr(ir_node, "python_kernel_name", None)
    return name if isinstance(name, str) else None


def _accessed_bytes(node: Any) -> int | None:
    """Inductor's own count of the bytes a node reads and writes, with hints for dynamic sizes."""
    count = node.get_read_write_buffers_sizes()
    return int(count) if isinstance(count, int) else None


def _part(leaf: Any) -> dict[str, Any]:
    reads_writes = leaf.read_writes
    return {
        "name": leaf.get_name(),
        "reads": sorted({dep.name for dep in reads_writes.reads}),
        "writes": sorted({dep.name for dep in reads_writes.writes}),
        "bytes": _accessed_bytes(leaf),
    }


def _op(origin: Any, places: list[tuple[str, int, str]]) -> list[Any]:
    """Name, operator, the operator it was before decompositions, which of the lines is its own."""
    original = origin.meta.get("original_aten")
    place = user_frame(origin.meta.get("stack_trace"))
    at = places.index(place) if place is not None else None
    return [origin.name, str(origin.target), str(original) if original is not None else None, at]


def _user_lines(origins: list[Any]) -> list[tuple[str, int, str]]:
    """The innermost line outside torch of each FX node, each once, in the order of files and lines."""
    places = (user_frame(origin.meta.get("stack_trace")) for origin in origins)
    return sorted({place for place in places if place is not None})


def user_frame(stack_trace: Any) -> tuple[str, int, str] | None:
    """The innermost frame outside torch: ``self.linear(x)`` ends in torch's own ``linear.py``.

    ``File "x.py", line 3, in f`` is how torch keeps the stack on a node.
    """
    if not isinstance(stack_trace, str):
        return None
    rest, innermost = stack_trace, None
    for _ in range(MAX_FRAMES):
        start = rest.rfind('File "')
        if start < 0:
            break
        frame = _frame(rest[start + 6 :])
        if frame is not None and not frame[0].startswith(_torch_folder()):
            return frame
        innermost = innermost or frame
        rest = rest[:start]
    return innermost


def _frame(text: str) -> tuple[str, int, str] | None:
    file, found, rest = text.partition('", line ')
    number, _, rest = rest.partition(",")
    if not found or not number.isdigit():
        return None
    return file, int(number), rest.removeprefix(" in ").split("\n", 1)[0].strip()


@functools.cache
def _torch_folder() -> str:
    return str(Path(str(sys.modules["torch"].__file__)).parent) + os.sep


def described_call(line: Any) -> dict[str, Any] | None:
    """A wrapper line that launches something; None for the others."""
    kind = type(line).__name__
    if kind == "KernelCallLine":
        return {
            "line": kind,
            "kernel": str(line.kernel_name),
            "args": [str(arg) for arg in line.call_args],
            "triton": bool(line.triton),
            "device": str(line.device),
        }
    if kind in _CALL_LINES:
        node = line.node
        return {
            "line": kind,
            "kernel": _kernel_name(node) or str(node.get_kernel_name()),
            "buffer": node.get_name(),
            "ir": type(node).__name__,
            "device": str(node.get_device()),
        }
    if isinstance(line, str) and "(" in line and not line.lstrip().startswith("#"):
        return {"line": "str", "text": clipped(line.strip(), MAX_STATEMENT)}
    return None
