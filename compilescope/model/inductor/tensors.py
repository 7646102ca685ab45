"""Tensors as torch prints them: ``bf16[4, s27, 512][512*s27, 512, 1]cuda:0``, and their bytes."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from compilescope.model.inductor._text import arguments
from compilescope.model.inductor.sizes import Size, product, size

# torch's short names in printed graphs, Triton's in kernel signatures, C++'s in argument lists.
_SHORT = {
    "b8": "bool",
    "u8": "uint8",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
    "i1": "bool",
    "fp16": "float16",
    "fp32": "float32",
    "fp64": "float64",
    "fp8e4nv": "float8_e4m3fn",
    "fp8e5": "float8_e5m2",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "int64_t": "int64",
    "int32_t": "int32",
    "int16_t": "int16",
    "int8_t": "int8",
    "uint8_t": "uint8",
    "at::BFloat16": "bfloat16",
    "at::Half": "float16",
}
_BITS = re.compile(r"(\d+)")
_PRINTED = re.compile(r"^(\w+)\[")


@dataclass(frozen=True, slots=True)
class Tensor:
    """A layout. ``dtype`` None: the text does not say. Sizes and strides may hold symbols."""

    dtype: str | None
    shape: tuple[str, ...]
    stride: tuple[str, ...] | None = None
    device: str | None = None

    @property
    def elements(self) -> Size:
        return product(self.shape)

    @property
    def size_bytes(self) -> Size | None:
        """Bytes of the storage it spans: ``(1 + sum((size - 1) * stride)) * item size``; 0 if a size is 0.

        Without strides: the number of elements times the item size. None if the dtype is unknown. The
        caching allocator's rounding (512 bytes on CUDA) is not in it.
        """
        return _storage_bytes(self.dtype, self.shape, self.stride)

    def __str__(self) -> str:
        return f"{self.dtype or '?'}[{', '.join(self.shape)}]"


@functools.lru_cache(maxsize=8192)
def _storage_bytes(dtype: str | None, shape: tuple[str, ...], stride: tuple[str, ...] | None) -> Size | None:
    item = item_bytes(dtype)
    if item is None:
        return None
    if "0" in shape:
        return size(0)
    if stride is None or len(stride) != len(shape):
        return product(shape) * item
    span = size(1)
    for n, step in zip(shape, stride, strict=True):
        span = span + (size(n) - 1) * size(step)
    return span * item


def dtype_of(name: str) -> str:
    """torch's full name for any of the short ones."""
    bare = name.strip().removeprefix("torch.")
    return _SHORT.get(bare, bare)


def item_bytes(dtype: str | None) -> int | None:
    if dtype is None:
        return None
    if dtype == "bool":
        return 1
    bits = _BITS.search(dtype)
    return max(1, int(bits.group(1)) // 8) if bits else None


def printed_tensor(annotation: str) -> Tensor | None:
    """From the annotation of a printed graph; None for ``Sym(s27)`` and what else is not a tensor."""
    found = _PRINTED.match(annotation)
    if not found:
        return None
    shape, end = arguments(annotation, found.end())
    rest = annotation[end + 1 :]
    stride: tuple[str, ...] | None = None
    if rest.startswith("["):
        items, end = arguments(rest, 1)
        stride, rest = tuple(items), rest[end + 1 :]
    return Tensor(dtype_of(found.group(1)), tuple(shape), stride, rest or None)
