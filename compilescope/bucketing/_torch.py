"""The few places of torch whose shape differs between 2.11 and 2.15, read once for the whole room."""

from __future__ import annotations

import os
import re
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch._dynamo import convert_frame

_TORCH = str(Path(torch.__file__).parent) + os.sep


def source_name(source: Any) -> str:
    """A Dynamo source as text, e.g. "L['x'].size()[0]". ``name`` was a method before it became a property."""
    return str(source.name() if callable(source.name) else source.name)


def hint_of(shape_env: Any, symbol: Any) -> int | None:
    """The size ``symbol`` had when the graph was traced; None for one that only run time knows."""
    values = getattr(shape_env, "backed_var_to_val", None)
    if values is None:
        values = shape_env.var_to_val
    return int(values[symbol]) if symbol in values else None


def expression(value: Any) -> Any:
    """The sympy expression of an int or a SymInt."""
    return value.node.expr if isinstance(value, torch.SymInt) else sympy.Integer(int(value))


def finite(bound: Any) -> int | None:
    """The bound of a symbol's range as an int; None for no bound, which torch also writes as 2**63 - 1."""
    return int(bound) if isinstance(bound, sympy.Integer) and abs(bound) < 2**62 else None


def compile_lock() -> threading.RLock:
    """Dynamo's own lock: AOTAutograd and Inductor patch process-wide configuration while they compile."""
    return convert_frame.compile_lock  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class UserLine:
    """A line of the user's that a node of a graph comes from."""

    path: str
    line: int
    function: str
    code: str


def user_line(stack_trace: str | None) -> UserLine | None:
    """The innermost frame of a node's stack trace that is not torch's own; else the innermost one."""
    frames = re.findall(r'File "([^"]*)", line (\d+), in (\S+)(?:\n\s+(.*))?', stack_trace or "")
    if not frames:
        return None
    own = [frame for frame in frames if not frame[0].startswith(_TORCH)]
    path, line, function, code = (own or frames)[-1]
    return UserLine(path, int(line), function, code.strip())


def current_compile_id() -> Any:
    return torch._guards.CompileContext.current_compile_id()
