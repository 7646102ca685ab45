"""Run the pieces on fake tensors: what goes into each, and whether a cut is safe there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from compilescope.bucketing._torch import expression
from compilescope.bucketing.piecewise.cut import CannotSplitError, Piece

_NUMBERS = (int, float, bool, torch.SymInt, torch.SymFloat, torch.SymBool, type(None))


@dataclass(frozen=True, slots=True)
class TracedPiece:
    """A piece with the arguments to compile it with and the fake values of its outputs.

    ``views`` says which outputs lie in the storage of an input.
    """

    piece: Piece
    arguments: tuple[Any, ...]
    outputs: tuple[Any, ...]
    views: tuple[bool, ...]


def trace(
    pieces: Sequence[Piece], inputs: Sequence[fx.Node], arguments: Sequence[Any], fake_mode: Any
) -> list[TracedPiece]:
    """Raises CannotSplitError where a value is written on one side of a cut and shared with the other."""
    values: dict[fx.Node, Any] = dict(zip(inputs, arguments, strict=True))
    traced = []
    for piece in pieces:
        given = [values[node] for node in piece.inputs]
        before = [_version(value) for value in given]
        with fake_mode:
            outputs = fx.Interpreter(piece.graph_module).run(*given)
        for node, value, version in zip(piece.inputs, given, before, strict=True):
            if _version(value) != version:
                _check_write(node, value, piece, values)
        for node, value in zip(piece.outputs, outputs, strict=True):
            _check_crossing(node, value)
            values[node] = value
        with fake_mode:
            leaves = tuple(
                value if node.op == "placeholder" and _version(value) == 0 else _leaf(value)
                for node, value in zip(piece.inputs, given, strict=True)
            )
        storages = {_storage(value) for value in given if isinstance(value, torch.Tensor)}
        views = tuple(isinstance(value, torch.Tensor) and _storage(value) in storages for value in outputs)
        traced.append(TracedPiece(piece, leaves, tuple(outputs), views))
    return traced


def _storage(value: torch.Tensor) -> int:
    return value.untyped_storage()._cdata  # type: ignore[no-any-return]


def _version(value: Any) -> int:
    if not isinstance(value, torch.Tensor) or value.is_inference():
        return 0
    return int(value._version)


def _check_write(node: fx.Node, value: torch.Tensor, piece: Piece, values: dict[fx.Node, Any]) -> None:
    if node.op != "placeholder" and not piece.runs_eagerly:
        raise CannotSplitError(f"{node.name} is written in place on the other side of a cut")
    for other, shared in values.items():
        if other is not node and isinstance(shared, torch.Tensor) and _storage(shared) == _storage(value):
            raise CannotSplitError(
                f"{node.name} is written in place and shares its storage with {other.name}"
            )


def _check_crossing(node: fx.Node, value: Any) -> None:
    if isinstance(value, torch.Tensor):
        sizes: Sequence[Any] = (*value.shape, *value.stride())
    elif isinstance(value, _NUMBERS):
        sizes = (value,)
    else:
        raise CannotSplitError(f"{node.name} is a {type(value).__name__}, which cannot cross a cut")
    for size in sizes:
        if isinstance(size, torch.SymInt) and any(
            str(symbol).startswith("u") for symbol in expression(size).free_symbols
        ):
            raise CannotSplitError(f"the size of {node.name} comes from data")
        if isinstance(size, (torch.SymFloat, torch.SymBool)):
            raise CannotSplitError(f"{node.name} is a number that is not known before run time")


def _leaf(value: Any) -> Any:
    """A tensor like ``value`` without history: AOTAutograd differentiates with respect to leaves."""
    if not isinstance(value, torch.Tensor):
        return value
    shape, stride, offset = tuple(value.shape), tuple(value.stride()), value.storage_offset()
    if isinstance(offset, int) and offset == 0:
        leaf = torch.empty_strided(shape, stride, dtype=value.dtype, device=value.device)
    else:
        length = 1 + offset + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
        leaf = torch.empty(length, dtype=value.dtype, device=value.device).as_strided(shape, stride, offset)
    return leaf.requires_grad_(True) if value.requires_grad else leaf
