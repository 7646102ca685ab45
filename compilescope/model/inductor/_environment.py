"""The layouts of the names in a called function, as its statements define them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from compilescope.model.inductor._text import arguments, tuple_items
from compilescope.model.inductor.tensors import Tensor, dtype_of

_ALLOCATE = re.compile(r"^(\w+) = empty_strided_(\w+?)\(")
_ASSERT = "assert_size_stride("
_VIEW = re.compile(r"^(?:(\w+) = )?(?:torch\.ops\.inductor\.)?_?reinterpret_tensor\(")
_SAME = re.compile(r"^(\w+) = (\w+)((?:\[\d+\])*)(?:;|$|\s)")


class Environment:
    """Follows statements in order, starting from the graph's inputs as the example call had them.

    ``items``: a library's result -> the names of its parts, itself if it is one tensor.
    """

    def __init__(self, declared: Mapping[str, Tensor]) -> None:
        self._tensors: dict[str, Tensor] = dict(declared)
        self._dtypes: dict[str, str] = {}  # of names whose sizes are not known yet
        self._makers: dict[str, Mapping[int, str]] = {}  # a library's result -> dtypes of its parts
        self._renamed: dict[str, str] = {}  # name -> the older name of the same storage
        self.items: dict[str, list[str]] = {}

    def follow(self, text: str) -> None:
        if found := _ALLOCATE.match(text):
            self._tensors[found.group(1)] = allocated(text, found)
        elif text.startswith(_ASSERT):
            self._asserted(text)
        elif (found := _VIEW.match(text)) and found.group(1):
            viewed = self.of(text[len(found.group(1)) + 3 :])
            self._renamed[found.group(1)] = base_name(text[len(found.group(1)) + 3 :])
            if viewed is not None:
                self._tensors[found.group(1)] = viewed
        elif found := _SAME.match(text):
            self._named(*found.groups())

    def _asserted(self, text: str) -> None:
        """Sizes with symbols, where the example call has numbers; also of what a library allocated."""
        pieces = arguments(text, len(_ASSERT))[0]
        if len(pieces) < 3:
            return
        name, shape, stride = pieces[0], tuple_items(pieces[1]), tuple_items(pieces[2])
        known = self._tensors.get(name) or Tensor(self._dtypes.get(name), ())
        self._tensors[name] = replace(known, shape=shape, stride=stride)

    def _named(self, name: str, source: str, index: str) -> None:
        if source in self.items:
            self.items[source].append(name)
            part = int(index.strip("[]")) if index.strip("[]").isdigit() else -1
            dtype = self._makers[source].get(part)
            if dtype:
                self._dtypes[name] = dtype
        elif not index and source in self._tensors:
            self._tensors[name] = self._tensors[source]
            self._renamed[name] = source

    def library_result(self, name: str, dtypes: Mapping[int, str]) -> None:
        """A result whose sizes follow in assertions, if at all. ``dtypes``: of its parts, -1 for itself."""
        self.items[name] = []
        self._makers[name] = dtypes
        if -1 in dtypes:
            self._dtypes[name] = dtypes[-1]

    def results(self, name: str) -> list[str]:
        """The names a library's result ended up under."""
        return self.items.get(name) or [name]

    def of(self, expression: str) -> Tensor | None:
        """The layout of ``buf0`` or of ``reinterpret_tensor(buf0, (4, 8), (8, 1), 0)``."""
        found = _VIEW.match(expression)
        if not found:
            return self._tensors.get(expression)
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
        """From the signature of a kernel that takes it."""
        older: str | None = name
        while dtype and older is not None:
            known = self._tensors.get(older)
            if known is not None and known.dtype is None:
                self._tensors[older] = replace(known, dtype=dtype)
            older = self._renamed.get(older) if older != self._renamed.get(older) else None

    def root(self, name: str) -> str:
        """The first name of the storage that ``name`` stands for."""
        for _ in range(len(self._renamed) + 1):
            older = self._renamed.get(name)
            if older is None or older == name:
                return name
            name = older
        return name


def allocated(text: str, found: re.Match[str]) -> Tensor:
    pieces = arguments(text, found.end())[0]
    shape, stride, dtype = [*pieces, "", "", ""][:3]
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
