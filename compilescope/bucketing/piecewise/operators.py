"""Which nodes a graph is split at: operators given by name, as an operator or as a Python function."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import fx

from compilescope.errors import UsageError

SplitOp = str | Any

ATTENTION: tuple[SplitOp, ...] = (
    "scaled_dot_product_attention",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
    "_flash_attention_forward",
    "_efficient_attention_forward",
    "flash_attn_func",
    "flash_attn_varlen_func",
    "flash_attn::*",
    "flash_attn_3::*",
    "flex_attention",
)
"""Attention as torch and the flash-attn package name it."""


class SplitOps:
    """Matches nodes. Text is an operator's name ('mylib::attend', 'scaled_dot_product_attention'), of a whole
    library ('flash_attn::*'), or of a function.

    Raises UsageError for what names no operator.
    """

    def __init__(self, ops: Iterable[SplitOp]) -> None:
        if isinstance(ops, str):
            raise UsageError(f"split_ops is a list of operators, not the text {ops!r}")
        self._names: set[str] = set()
        self._libraries: set[str] = set()
        self._targets: list[Any] = []
        for op in ops:
            self._add(op)

    def __call__(self, node: fx.Node) -> bool:
        if node.op not in ("call_function", "call_method"):
            return False
        if any(node.target is target for target in self._targets):
            return True
        names = names_of(node.target)
        return bool(names & self._names) or any(
            name.startswith(library) for library in self._libraries for name in names
        )

    def _add(self, op: SplitOp) -> None:
        if isinstance(op, str):
            if op.endswith("::*"):
                self._libraries.add(op[:-1])
                return
            text = op.removeprefix("torch.ops.").removeprefix("aten.").removeprefix("aten::")
            if not text:
                raise UsageError(f"{op!r} names no operator")
            self._names.add(text.replace(".", "::", 1) if op.startswith("torch.ops.") else text)
        elif callable(op):
            self._targets.append(op)
            # A function of torch's stands for its operator; one of yours is only itself.
            own = str(getattr(op, "__module__", None) or "torch").split(".")[0] == "torch"
            self._names |= {name for name in names_of(op) if own or "::" in name}
        else:
            raise UsageError(f"{op!r} is no operator: give its name, the operator or a function")


def names_of(target: Any) -> set[str]:
    """The names a target goes by: 'mylib::op', for torch's own also 'op'; a function's own name."""
    if isinstance(target, str):
        return {target}
    if isinstance(target, torch._ops.OpOverload):
        return _registered(str(target._schema.name))
    if isinstance(target, torch._ops.OpOverloadPacket):
        return _registered(str(target._qualified_op_name))
    name = getattr(target, "__name__", None)
    if isinstance(target, torch._library.custom_ops.CustomOpDef):
        return _registered(target._qualname)
    return {str(name)} if name else set()


def _registered(qualified: str) -> set[str]:
    library, _, name = qualified.partition("::")
    return {qualified, name} if library == "aten" else {qualified}
