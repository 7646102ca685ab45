"""The generated function between dispatch and artifact: pad, call, write back, cut.

>>> def padded(*a):
...     b = [*a]
...     b[0] = 32
...     b[1] = pad(a[1], (0, 0, 0, 32 - a[0]), 0.0)
...     o = [*artifact(*b)]
...     o[0] = o[0].narrow(0, 0, a[0])
...     return o
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.utils._sympy.printers import PythonPrinter

from compilescope.bucketing._torch import expression
from compilescope.bucketing.compile import CapturedGraph
from compilescope.bucketing.inner import Artifact, boxed_form
from compilescope.bucketing.padding.contract import PaddingRefusedError
from compilescope.bucketing.padding.inspect import Inspection
from compilescope.bucketing.padding.outputs import CutOutput, PaddedInput

Term = tuple[int, tuple[str, ...]]


class PaddedCall:
    """``artifact``, made for ``sizes``, called with less: ``function`` is the callable.

    ``sizes`` are the sizes of all symbols that were fixed, of which those of ``inspections`` are padded.
    Raises PaddingRefusedError where a size that is needed cannot be read from the arguments.
    """

    def __init__(
        self,
        captured: CapturedGraph,
        sizes: Mapping[Any, int],
        inspections: Sequence[Inspection],
        artifact: Artifact,
    ) -> None:
        self._captured = captured
        self._inspections = tuple(inspections)
        self._padded = {symbol: sizes[symbol] for each in inspections for symbol in each.symbols}
        self._boxed = boxed_form(artifact)
        self.source = "\n".join(["def padded(*a):", *(f"    {line}" for line in self._lines())])
        scope = {
            "artifact": artifact if self._boxed is None else self._boxed,
            "math": math,
            "torch": torch,
            "pad": self._pad_of(artifact),
            "grown": grown,
            "unfolded_and_cut": unfolded_and_cut,
            "laid_out": laid_out,
        }
        local: dict[str, Any] = {}
        exec(self.source, scope, local)
        self.function: Artifact = local["padded"]

    def copied_bytes(self, names: Mapping[Any, str]) -> tuple[Term, ...] | None:
        """Bytes a call writes to pad and to cut, as (factor, names to multiply it with); None: not known."""
        total = sympy.Integer(0)
        for position in {padded.position for each in self._inspections for padded in each.inputs}:
            tensor = self._captured.inputs[position].value
            total += _numel(tensor.shape).xreplace(self._fixed) * tensor.element_size()
        for output in self._outputs().values():
            if output.is_copied:
                total += sympy.prod(output.shape) * output.element_size
        total = sympy.expand(total.xreplace({symbol: sympy.Symbol(name) for symbol, name in names.items()}))
        named = {sympy.Symbol(name) for name in names.values()}
        if not total.free_symbols <= named or not total.is_polynomial():
            return None
        return tuple(_term(part) for part in sympy.Add.make_args(total) if part != 0)

    def _pad_of(self, artifact: Artifact) -> Any:
        """An artifact that copies its inputs anyway may pad them on the way, if nobody reads them later."""
        is_read = any(padded.is_written for each in self._inspections for padded in each.inputs)
        plain = torch.nn.functional.pad
        return plain if is_read else getattr(artifact, "deferred_pad", plain)

    @property
    def _fixed(self) -> dict[Any, Any]:
        return {symbol: sympy.Integer(size) for symbol, size in self._padded.items()}

    def _lines(self) -> list[str]:
        lines = ["b = [*a]"]
        lines += self._size_lines()
        for each in self._inspections:
            lines += self._input_lines(each)
        # What a boxed artifact is given is emptied: memory is freed as soon as it can be.
        writes = self._write_back_lines()
        arguments = "*b" if self._boxed is None else "[*b]" if writes else "b"
        lines += [f"o = [*artifact({arguments})]", *writes]
        for position, output in self._outputs().items():
            lines += self._output_lines(position, output)
        lines += self._alias_lines()
        lines += self._number_lines()
        return [*lines, "return o"]

    def _size_lines(self) -> list[str]:
        """Sizes that are arguments of the graph themselves."""
        return [
            f"b[{each.position}] = {self._text(expression(each.value), self._fixed)}"
            for each in self._captured.inputs
            if isinstance(each.value, torch.SymInt)
            and expression(each.value).free_symbols & self._padded.keys()
        ]

    def _input_lines(self, inspection: Inspection) -> list[str]:
        symbol = inspection.symbols[0]
        real, size = self._text(symbol, {}), self._padded[symbol]
        lines = []
        for padded in inspection.inputs:
            tensor = self._captured.inputs[padded.position].value
            before = f"b[{padded.position}]"
            if _is_contiguous(tensor):
                amounts = ", ".join(["0, 0"] * (tensor.dim() - padded.dim - 1) + [f"0, {size} - {real}"])
                lines.append(f"{before} = pad({before}, ({amounts}), value={padded.value!r})")
            else:
                strides = self._tuple(map(expression, tensor.stride()), self._fixed)
                lines.append(f"{before} = grown({before}, {padded.dim}, {size}, {padded.value!r}, {strides})")
        return [
            line.replace("value=inf", "value=float('inf')").replace("value=-inf", "value=-float('inf')")
            for line in lines
        ]

    def _write_back_lines(self) -> list[str]:
        written: dict[int, list[PaddedInput]] = {}
        for each in self._inspections:
            for padded in each.inputs:
                if padded.is_written:
                    written.setdefault(padded.position, []).append(padded)
        lines = []
        for position, dims in written.items():
            cut = "".join(f".narrow({p.dim}, 0, a[{position}].size({p.dim}))" for p in dims)
            lines.append(f"a[{position}].copy_(b[{position}]{cut})")
        return lines

    def _outputs(self) -> dict[int, _Output]:
        found: dict[int, _Output] = {}
        for each in self._inspections:
            for cut in each.outputs:
                output = found.setdefault(cut.position, _Output(cut))
                output.cuts.append(cut)
        views = {alias.position for each in self._inspections for alias in each.aliases}
        for output in found.values():
            output.is_copied = any(cut.outer != 1 for cut in output.cuts) or any(
                step.free_symbols & self._padded.keys() for step in output.strides
            )
        return {position: output for position, output in found.items() if position not in views}

    def _output_lines(self, position: int, output: _Output) -> list[str]:
        lines, at_rung = [], dict(self._fixed)
        for cut in output.cuts:
            (symbol,) = cut.rows.free_symbols & self._padded.keys()
            padded_rows = self._text(cut.rows, at_rung)
            at_rung.pop(symbol, None)
            rows = self._text(cut.rows, {})
            outer, inner = self._text(cut.outer, at_rung), self._text(cut.inner, at_rung)
            if cut.outer == 1:
                lines.append(f"o[{position}] = o[{position}].narrow({cut.dim}, 0, ({rows}) * ({inner}))")
            else:
                folded = f"{cut.dim}, {outer}, {padded_rows}, {inner}, {rows}"
                lines.append(f"o[{position}] = unfolded_and_cut(o[{position}], {folded})")
        if output.is_copied:
            lines.append(f"o[{position}] = laid_out(o[{position}], {self._tuple(output.strides, {})})")
        return lines

    def _alias_lines(self) -> list[str]:
        lines = []
        for alias in {alias.position: alias for each in self._inspections for alias in each.aliases}.values():
            base = f"o[{alias.of_output}]" if alias.of_input is None else f"a[{alias.of_input}]"
            layout = f"{self._tuple(alias.shape, {})}, {self._tuple(alias.strides, {})}"
            offset = f"{base}.storage_offset() + {self._text(alias.offset, {})}"
            lines.append(f"o[{alias.position}] = {base}.as_strided({layout}, {offset})")
        return lines

    def _number_lines(self) -> list[str]:
        numbers = {position: value for each in self._inspections for position, value in each.numbers}
        return [f"o[{position}] = {self._text(value, {})}" for position, value in numbers.items()]

    def _tuple(self, expressions: Any, at: Mapping[Any, Any]) -> str:
        return "(" + "".join(f"{self._text(each, at)}, " for each in expressions) + ")"

    def _text(self, value: Any, at: Mapping[Any, Any]) -> str:
        """Python that computes ``value`` from the arguments; ``at`` has the symbols that are numbers."""
        return _ArgumentPrinter(self._captured.reach).doprint(sympy.sympify(value).xreplace(at))  # type: ignore[no-any-return]


class _Output:
    def __init__(self, cut: CutOutput) -> None:
        self.shape, self.strides, self.element_size = cut.shape, cut.strides, cut.element_size
        self.cuts: list[CutOutput] = []
        self.is_copied = False


class _ArgumentPrinter(PythonPrinter):  # type: ignore[misc]
    def __init__(self, reach: Mapping[Any, str]) -> None:
        super().__init__()
        self._reach = reach

    def _print_Symbol(self, symbol: Any) -> str:  # noqa: N802  (sympy's dispatch)
        if symbol not in self._reach:
            raise PaddingRefusedError(f"no argument shows {symbol}, which an output's size needs")
        return self._reach[symbol]


def grown(tensor: torch.Tensor, dim: int, size: int, value: float, strides: Sequence[int]) -> torch.Tensor:
    """``tensor`` in a new storage with these ``strides``, filled up with ``value`` along ``dim``."""
    shape = list(tensor.shape)
    real, shape[dim] = shape[dim], size
    made = torch.empty_strided(shape, strides, dtype=tensor.dtype, device=tensor.device)
    made.narrow(dim, real, size - real).fill_(value)
    made.narrow(dim, 0, real).copy_(tensor)
    return made


def unfolded_and_cut(
    tensor: torch.Tensor, dim: int, outer: int, padded_rows: int, inner: int, rows: int
) -> torch.Tensor:
    """Cut rows that are folded into ``dim`` behind ``outer`` others."""
    shape = tensor.shape
    split = tensor.reshape(*shape[:dim], outer, padded_rows, inner, *shape[dim + 1 :])
    return split.narrow(dim + 1, 0, rows).reshape(*shape[:dim], outer * rows * inner, *shape[dim + 1 :])


def laid_out(tensor: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """A copy with the strides the unpadded graph gives its caller."""
    if tensor.stride() == tuple(strides):
        return tensor
    made = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device)
    return made.copy_(tensor)


def _is_contiguous(tensor: torch.Tensor) -> bool:
    expected = sympy.Integer(1)
    for size, step in zip(reversed(tensor.shape), reversed(tensor.stride()), strict=True):
        if sympy.expand(expression(step) - expected) != 0:
            return False
        expected = expected * expression(size)
    return True


def _numel(shape: Sequence[Any]) -> Any:
    return sympy.prod(expression(size) for size in shape)


def _term(part: Any) -> Term:
    factor, symbols = part.as_coeff_Mul()
    names: list[str] = []
    for symbol, power in symbols.as_powers_dict().items():
        if symbol != 1:
            names += [str(symbol)] * int(power)
    return int(factor), tuple(sorted(names))
