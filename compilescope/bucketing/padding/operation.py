"""One ATen call as rules see it: arguments by name, rows of its tensors, sizes as sympy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from compilescope.bucketing._torch import expression
from compilescope.bucketing.padding.contract import PaddingRefusedError
from compilescope.bucketing.padding.rows import Rows
from compilescope.bucketing.padding.values import FINITE, Values, exactly

if TYPE_CHECKING:
    from compilescope.bucketing.padding.tracker import RowTracker


class Operation:
    """``arguments`` has defaults filled in; ``result`` is what the call gave."""

    def __init__(self, tracker: RowTracker, func: Any, arguments: dict[str, Any], result: Any) -> None:
        self._tracker = tracker
        self._func = func
        self.arguments = arguments
        self.result = result
        self.name = "scaled_dot_product_attention" if func is None else _name_of(func)
        self.tensors = tensors_in(arguments.values())

    def __getitem__(self, name: str) -> Any:
        return self.arguments[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self.arguments.get(name, default)

    @property
    def out(self) -> torch.Tensor:
        """The first tensor of the result."""
        return tensors_in(self.result)[0]

    @property
    def is_pointwise(self) -> bool:
        return self._func is not None and torch.Tag.pointwise in self._func.tags

    @property
    def is_random(self) -> bool:
        """Whether it draws. Attention is tagged so for its dropout, and draws nothing where that is 0."""
        if self._func is None or self.get("dropout_p") == 0:
            return False
        return torch.Tag.nondeterministic_seeded in self._func.tags

    @property
    def reshapes_in_place(self) -> bool:
        """As ``x.unsqueeze_(0)`` does: then the shape the rows are known for is gone."""
        return self._func is not None and torch.Tag.inplace_view in self._func.tags

    @property
    def has_gradient(self) -> bool:
        """Whether a gradient may flow through it."""
        return self._tracker.has_gradient(self.tensors)

    @property
    def has_rows(self) -> bool:
        return any(self.rows(tensor).has_axis for tensor in self.tensors)

    @property
    def has_tails(self) -> bool:
        return any(self.rows(tensor).has_tail for tensor in self.tensors)

    @property
    def attention_mask(self) -> torch.Tensor | None:
        """What attention adds to its scores, or allows: infinite entries of it reach no gradient."""
        mask: torch.Tensor | None = self.get("attn_mask", self.get("attn_bias"))
        return mask

    @property
    def numbers(self) -> list[Any]:
        """Every argument, or item of one, that is no tensor."""
        return [each for each in _flat(self.arguments.values()) if not isinstance(each, torch.Tensor)]

    def rows(self, tensor: torch.Tensor) -> Rows:
        return self._tracker.rows(tensor)

    def carries(self, value: Any) -> bool:
        return self._tracker.carries(value)

    def values_of(self, argument: Any) -> Values:
        """What is known of a scalar argument, or of all entries of a tensor."""
        if isinstance(argument, torch.Tensor):
            return self.rows(argument).whole
        if isinstance(argument, (bool, int, float)):
            return exactly(argument)
        return FINITE

    def writes(self, tensor: torch.Tensor) -> bool:
        """Whether the call changes ``tensor``, which it was given, in place."""
        if self._func is None or not self._func._schema.is_mutable:
            return False
        return any(tensor is each for each in self.tensors)

    @property
    def padded_size(self) -> Any:
        return self._tracker.symbol

    def is_plain_size(self, size: Any) -> bool:
        """Whether a size is the padded one, or a fixed number more or less."""
        return bool((size - self._tracker.symbol).is_integer and (size - self._tracker.symbol).is_number)

    def note_random(self) -> None:
        self._tracker.note_random(self.name)

    def note_limit(self, rows: Any, limit: int) -> None:
        """Places up to ``rows`` are looked up among ``limit``."""
        self._tracker.note_limit(limit - int(rows - self._tracker.symbol))

    def refuse(self, why: str) -> PaddingRefusedError:
        return self._tracker.refusal(self.name, why)

    def dim(self, tensor: torch.Tensor, dim: int | None = None) -> int:
        """``dim``, or the argument of that name, counted from the front."""
        counted: int = (self["dim"] if dim is None else dim) % max(tensor.dim(), 1)
        return counted

    def dims(self, tensor: torch.Tensor, name: str = "dim") -> tuple[int, ...]:
        """The dimensions a reduction is over; all when none are given."""
        wanted = self.get(name)
        if wanted is None or (isinstance(wanted, (list, tuple)) and not wanted):
            return tuple(range(tensor.dim()))
        listed = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        return tuple(int(dim) % max(tensor.dim(), 1) for dim in listed)


def sizes(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tuple(expression(size) for size in tensor.shape)


def tensors_in(values: Any) -> list[torch.Tensor]:
    return [each for each in _flat([values]) if isinstance(each, torch.Tensor)]


def arguments_of(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    bound: dict[str, Any] = {}
    for position, argument in enumerate(func._schema.arguments):
        if position < len(args):
            bound[argument.name] = args[position]
        elif argument.name in kwargs:
            bound[argument.name] = kwargs[argument.name]
        else:
            bound[argument.name] = argument.default_value
    return bound


def _flat(values: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if isinstance(value, (list, tuple)) or type(value).__name__ in ("dict_values", "immutable_list"):
            found += _flat(value)
        elif value is not None:
            found.append(value)
    return found


def _name_of(func: Any) -> str:
    name = str(func.overloadpacket.__name__)
    if func.namespace != "aten":
        return f"{func.namespace}::{name}"
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name
