"""The few places of torch whose shape differs between 2.11 and 2.15, read once for the whole room."""

from __future__ import annotations

import threading
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch._dynamo import convert_frame


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


def current_compile_id() -> Any:
    return torch._guards.CompileContext.current_compile_id()
