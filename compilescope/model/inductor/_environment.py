"""The layouts of the names in a called function, as its statements define them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from compilescope.model.inductor._text import arguments, tuple_items
from compilescope.model.inductor.tensors import Tensor, dtype_of

_ALLOCATE = re.compile(r"^(\w+) = empty_strided_(\w+?)\(")
_ASSERT = re.compile(r"^assert_size_stride\(")
_VIEW = re.compile(r"^(?:(\w+) = )?(?:torch\.ops\.inductor\.)?_?reinterpret_tensor\(")
_SAME = re.compile(r"^(\w+) = (\w+)(\[\d+\])?(?:;|$|\s)")


class Environment:
    """Follows statements in order. ``declared``: the graph's inputs with the sizes of the example call."""

    def __init__(self, declared: Mapping[str, Tensor]) -> None:
        self._declared = declared
        self.tensors: dict[str, Tensor] = dict(declared)

    def follow(self, text: str) -> None:
        if found := _ALLOCATE.match(text):
            self.tensors[found.group(1)] = allocated(text, found)
        elif _ASSERT.match(text):
            self._asserted(text)
        elif (found := _VIEW.match(text)) and found.group(1):
            viewed = self.of(text[found.start() + len(found.group(1)) + 3 :])
            if viewed is not None:
                self.tensors[found.group(1)] = viewed
        elif found := _SAME.match(text):
            source = self.tensors.get(found.group(2))
            if source is not None and not found.group(3):
                self.tensors[found.group(1)] = source

    def _asserted(self, text: str) -> None:
        """Sizes with symbols, where ``declared`` has the example's; also of what a library allocated."""
        pieces = arguments(text, len("assert_size_stride("))[0]
        if len(pieces) < 3:
            return
        name, shape, stride = pieces[0], tuple_items(pieces[1]), tuple_items(pieces[2])
        known = self.tensors.get(name) or Tensor(None, ())
        self.tensors[name] = replace(known, shape=shape, stride=stride)

    def of(self, expression: str) -> Tensor | None:
        """The layout of ``buf0`` or of ``reinterpret_tensor(buf0, (4, 8), (8, 1), 0)``."""
        found = _VIEW.match(expression)
        if not found:
            return self.tensors.get(expression)
        pieces = arguments(expression, found.end())[0]
        if len(pieces) < 3:
            return None
        base = self.of(pieces[0])
        return Tensor(
            base.dtype if base else None,
            tuple_items(pieces[1]),
            tuple_items(pieces[2]),
            base.device if base else None,
        )

    def learn_dtype(self, name: str, dtype: str | None) -> None:
        known = self.tensors.get(name)
        if dtype and known is not None and known.dtype is None:
            self.tensors[name] = replace(known, dtype=dtype)


def allocated(text: str, found: re.Match[str]) -> Tensor:
    pieces = arguments(text, found.end())[0]
    shape, stride, dtype = (pieces + ["", "", ""])[:3]
    device = found.group(2).removesuffix("_pinned")
    return Tensor(dtype_of(dtype) if dtype else None, tuple_items(shape), tuple_items(stride), device)


def base_name(expression: str) -> str:
    """The buffer behind a view expression."""
    found = _VIEW.match(expression)
    while found:
        pieces = arguments(expression, found.end())[0]
        expression = pieces[0] if pieces else ""
        found = _VIEW.match(expression)
    return expression
