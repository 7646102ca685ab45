"""How what a padded graph gives becomes what the unpadded one would have given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch import fx

from compilescope.bucketing._torch import expression
from compilescope.bucketing.compile import CapturedGraph
from compilescope.bucketing.concretize import PrivateWorld
from compilescope.bucketing.padding.contract import PaddingRefusedError
from compilescope.bucketing.padding.tracker import RowTracker, line_of


@dataclass(frozen=True, slots=True)
class PaddedInput:
    """Input ``position`` grows along ``dim`` with ``value``; ``is_written`` when the graph changes it."""

    position: int
    dim: int
    value: float
    is_written: bool = False


@dataclass(frozen=True, slots=True)
class CutOutput:
    """Tensor output ``position`` is cut along ``dim`` to ``outer * rows * inner`` entries.

    Sizes are sympy over the symbols of the trace; ``shape`` and ``strides`` are those of the whole output.
    """

    position: int
    dim: int
    rows: Any
    outer: Any
    inner: Any
    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    element_size: int

    @property
    def is_copied(self) -> bool:
        """Whether cutting alone leaves other strides than the unpadded graph's."""
        return self.outer != 1 or any(step.free_symbols & self.rows.free_symbols for step in self.strides)


@dataclass(frozen=True, slots=True)
class AliasOutput:
    """Output ``position`` is a view, ``offset`` entries further on, of the padded input ``of_input`` as the
    caller has it, or of output ``of_output`` once that has been cut.
    """

    position: int
    of_input: int | None
    of_output: int | None
    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    offset: Any


class Outputs:
    """The results of one walk through a graph, in the sizes of ``world``."""

    def __init__(
        self,
        captured: CapturedGraph,
        tracker: RowTracker,
        world: PrivateWorld,
        results: Sequence[Any],
        inputs: Sequence[PaddedInput],
    ) -> None:
        self._tracker = tracker
        self._world = world
        self._results = list(results)
        self._theirs = dict(world.free)
        self._inputs = {_storage(world.arguments[each.position]): each.position for each in inputs}
        self._line = _output_line(captured.graph_module)
        tracker.line = self._line

    def numbers(self) -> list[tuple[int, Any]]:
        """Outputs that are sizes, as sympy of the trace. Raises PaddingRefusedError for a comparison."""
        found = []
        for position, value in enumerate(self._results):
            if not isinstance(value, torch.Tensor) and self._tracker.carries(value):
                if isinstance(value, torch.SymBool):
                    raise self._tracker.refusal("an output", "is a comparison of the padded size")
                found.append((position, value.node.expr.xreplace(self._theirs)))
        return found

    def cuts(self, overrides: Mapping[int, int | None]) -> list[CutOutput]:
        """``overrides`` says which dimension of an output is cut, whatever was derived from the graph."""
        return [
            cut
            for position, value in enumerate(self._results)
            if isinstance(value, torch.Tensor)
            for cut in self._cuts_of(position, value, overrides)
        ]

    def aliases(self, cuts: Sequence[CutOutput]) -> list[AliasOutput]:
        """Views of padded inputs, and of outputs that must be copied. Raises PaddingRefusedError."""
        by_storage: dict[int, list[int]] = {}
        for position, value in enumerate(self._results):
            if isinstance(value, torch.Tensor):
                by_storage.setdefault(_storage(value), []).append(position)
        copied = {cut.position for cut in cuts if cut.is_copied}
        found: list[AliasOutput] = []
        for storage, positions in by_storage.items():
            if storage in self._inputs:
                source = self._inputs[storage]
                base = self._world.arguments[source]
                found += [self._view_of(base, position, source, None) for position in positions]
            elif len(positions) > 1 and copied.intersection(positions):
                whole = self._that_is_whole(positions)
                rest = [position for position in positions if position != whole]
                found += [self._view_of(self._results[whole], position, None, whole) for position in rest]
        return found

    def _that_is_whole(self, positions: Sequence[int]) -> int:
        """The output that has every entry of the storage that these outputs share."""
        for position in positions:
            tensor = self._results[position]
            entries = expression(tensor.untyped_storage().nbytes()) / tensor.element_size()
            size = sympy.prod([expression(each) for each in tensor.shape])
            if expression(tensor.storage_offset()) == 0 and sympy.expand(entries - size) == 0:
                return position
        raise PaddingRefusedError(
            "two outputs share their storage, and one must be copied to cut it", self._line
        )

    def _view_of(self, base: Any, position: int, of_input: int | None, of_output: int | None) -> AliasOutput:
        view = self._results[position]
        if view.dtype != base.dtype:
            raise self._tracker.refusal(f"output {position}", "is a view in another type")
        layout = self._sizes(view.shape), self._sizes(view.stride())
        offset = expression(view.storage_offset()) - expression(base.storage_offset())
        return AliasOutput(position, of_input, of_output, *layout, self._size(offset))

    def _cuts_of(
        self, position: int, tensor: torch.Tensor, overrides: Mapping[int, int | None]
    ) -> list[CutOutput]:
        axes = self._tracker.rows(tensor).axes
        if position in overrides:
            wanted = overrides[position]
            if wanted is not None and (wanted >= tensor.dim() or axes[wanted] is None):
                raise self._tracker.refusal(f"dimension {wanted} of output {position}", "has no padded rows")
            axes = tuple(axis if dim == wanted else None for dim, axis in enumerate(axes))
        if any(axis is not None and axis.has_tail for axis in axes):
            raise self._tracker.refusal(f"output {position}", "has padded rows that are filled up to a size")
        shape, strides = self._sizes(tensor.shape), self._sizes(tensor.stride())
        return [
            CutOutput(
                position,
                dim,
                self._size(axis.rows),
                self._size(axis.outer),
                self._size(axis.inner),
                shape,
                strides,
                tensor.element_size(),
            )
            for dim, axis in enumerate(axes)
            if axis is not None
        ]

    def _sizes(self, values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(self._size(expression(value)) for value in values)

    def _size(self, value: Any) -> Any:
        return value.xreplace(self._theirs)


def _storage(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _output_line(graph_module: fx.GraphModule) -> str | None:
    """The last line the graph comes from: outputs have none of their own."""
    lines = [line_of(node) for node in graph_module.graph.nodes]
    return next((line for line in reversed(lines) if line), None)
