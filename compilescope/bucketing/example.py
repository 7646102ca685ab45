"""The arguments of a call: which of them ``dims`` names, their sizes, and copies of other sizes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import torch

from compilescope.bucketing.identify import ARGUMENT, TAG, Dims
from compilescope.errors import UsageError

CAPTURE_SIZE = 7
"""Size that stands in for 0 and 1, which Dynamo makes constants, when a model is captured."""

Find = Callable[[tuple[Any, ...], Mapping[str, Any]], Any]
"""The tensor of a call, None where the call has none."""

_STEP = re.compile(
    r"\[(?P<quote>['\"])(?P<key>.*?)(?P=quote)\]|\[(?P<index>\d+)\]|\.(?P<attribute>[^\W\d]\w*)"
)


@dataclass(frozen=True, slots=True)
class NamedTensor:
    """``batch['ids']`` is the argument ``batch`` and the ``steps`` from it to the tensor."""

    name: str
    argument: str
    steps: tuple[tuple[str, Any], ...]
    dims: Mapping[int, str | None]
    find: Find

    def mark(self, arguments: tuple[Any, ...], by_name: Mapping[str, Any]) -> None:
        tensor = self.find(arguments, by_name)
        if isinstance(tensor, torch.Tensor):
            mark(tensor, self.dims, self.name)


def signature_of(target: Any, dims: Dims) -> inspect.Signature:
    """Of a module's forward, or of a function; of what a wrapper such as DDP hands its arguments on to, where
    ``dims`` uses those names.
    """
    is_module = isinstance(target, torch.nn.Module)
    signature = inspect.signature(target.forward if is_module else target)
    kinds = {each.kind for each in signature.parameters.values()}
    takes_all = kinds == {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    if is_module and takes_all and any(_path(name)[0] not in signature.parameters for name in dims):
        for name in ("_orig_mod", "module"):
            wrapped = getattr(target, name, None)
            if isinstance(wrapped, torch.nn.Module):
                return signature_of(wrapped, dims)
    return signature


def named_tensors(signature: inspect.Signature, dims: Dims) -> tuple[NamedTensor, ...]:
    """What ``dims`` names in calls of ``signature``. Raises UsageError for what it does not take."""
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in signature.parameters.values())
    found = []
    for name, by_dim in dims.items():
        argument, steps = _path(name)
        if argument not in signature.parameters and not takes_any:
            raise UsageError(
                f"dims names the argument {name!r}; the model takes {', '.join(signature.parameters)}"
            )
        found.append(NamedTensor(name, argument, steps, by_dim, _finder(signature, argument, steps)))
    return tuple(found)


def mark(tensor: torch.Tensor, dims: Mapping[int, str | None], argument: str = "") -> None:
    """Ask Dynamo to keep these dimensions symbolic, and tell the backend their names.

    A dimension that the model's code fixes to a constant becomes one, where ``mark_dynamic`` would raise.
    """
    setattr(tensor, TAG, dims)
    setattr(tensor, ARGUMENT, argument)
    torch._dynamo.maybe_mark_dynamic(tensor, [dim for dim in dims if dim < tensor.dim()])


class Example:
    """A call to copy from, given by position and by name as the user gives it.

    Code that takes ``**kwargs`` is traced once for each way of giving them: a copy keeps to the example's.
    """

    def __init__(
        self, named: tuple[NamedTensor, ...], arguments: tuple[Any, ...], by_name: Mapping[str, Any]
    ) -> None:
        self._named = named
        self._arguments = arguments
        self._by_name = dict(by_name)

    def sizes(self) -> dict[str, int]:
        """The size of each name; 0 and 1 replaced, and no two alike: Dynamo may take them for one symbol."""
        sizes: dict[str, int] = {}
        for each in self._named:
            tensor = each.find(self._arguments, self._by_name)
            for dim, name in each.dims.items():
                if name is not None and isinstance(tensor, torch.Tensor) and dim < tensor.dim():
                    sizes.setdefault(name, tensor.shape[dim])
        taken: set[int] = set()
        for name, size in sizes.items():
            wanted = size if size > 1 else CAPTURE_SIZE
            while wanted in taken:
                wanted += 1
            sizes[name] = wanted
            taken.add(wanted)
        return sizes

    def resized(self, sizes: Mapping[str, int]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Copies of the arguments with named dimensions at ``sizes``: what a call writes stays in them."""
        marks = {
            id(tensor): each.dims
            for each in self._named
            if isinstance(tensor := each.find(self._arguments, self._by_name), torch.Tensor)
        }

        def copied(value: Any) -> Any:
            if isinstance(value, torch.nn.Parameter):
                return value
            if isinstance(value, torch.Tensor):
                return _resized(value, marks.get(id(value), {}), sizes)
            return _rebuilt(value, copied)

        arguments = tuple(copied(value) for value in self._arguments)
        return arguments, {name: copied(value) for name, value in self._by_name.items()}


def _path(name: str) -> tuple[str, tuple[tuple[str, Any], ...]]:
    """ "batch['ids']" -> 'batch' and the step to its item. Raises UsageError."""
    argument = re.match(r"\w*", name)[0]  # type: ignore[index]
    steps: list[tuple[str, Any]] = []
    at = len(argument)
    while at < len(name):
        step = _STEP.match(name, at)
        if step is None:
            raise UsageError(
                f"dims names {name!r}, which is no argument and no part of one",
                hint="Parts are written as in Python: batch['ids'], pair[0], batch.ids",
            )
        attribute, index = step["attribute"], step["index"]
        item = int(index) if index is not None else step["key"]
        steps.append(("attribute", attribute) if attribute is not None else ("item", item))
        at = step.end()
    return argument, tuple(steps)


def _finder(signature: inspect.Signature, argument: str, steps: tuple[tuple[str, Any], ...]) -> Find:
    names = list(signature.parameters)
    position = names.index(argument) if argument in names else len(names)
    kind = signature.parameters[argument].kind if argument in names else None

    def given(arguments: tuple[Any, ...], by_name: Mapping[str, Any]) -> Any:
        return arguments[position] if position < len(arguments) else by_name.get(argument)

    def part(arguments: tuple[Any, ...], by_name: Mapping[str, Any]) -> Any:
        if kind is inspect.Parameter.VAR_POSITIONAL:
            value: Any = arguments[position:]
        else:
            value = by_name if kind is inspect.Parameter.VAR_KEYWORD else given(arguments, by_name)
        try:
            for how, step in steps:
                value = getattr(value, step) if how == "attribute" else value[step]
        except (AttributeError, IndexError, KeyError, TypeError):
            return None
        return value

    return part if steps else given


def _rebuilt(value: Any, copied: Callable[[Any], Any]) -> Any:
    """A container with ``copied`` entries; any other object as it is."""
    if isinstance(value, tuple):
        entries = [copied(each) for each in value]
        return type(value)(*entries) if hasattr(value, "_fields") else tuple(entries)
    if isinstance(value, list):
        return [copied(each) for each in value]
    if isinstance(value, MutableMapping):
        mapping = copy.copy(value)
        for key in value:
            mapping[key] = copied(value[key])
        return mapping
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        made = copy.copy(value)
        for each in dataclasses.fields(value):
            object.__setattr__(made, each.name, copied(getattr(value, each.name)))
        return made
    return value


def _resized(tensor: torch.Tensor, dims: Mapping[int, str | None], sizes: Mapping[str, int]) -> torch.Tensor:
    """A copy with the named dimensions at ``sizes``, filled by repeating what the example has."""
    made = tensor.detach()
    for dim, name in dims.items():
        if name is not None and name in sizes and dim < tensor.dim() and made.shape[dim] != sizes[name]:
            index = torch.arange(sizes[name], device=made.device) % max(made.shape[dim], 1)
            made = (
                made.index_select(dim, index)
                if made.shape[dim]
                else made.new_zeros(_with(made, dim, sizes[name]))
            )
    return made.clone().requires_grad_(tensor.requires_grad)


def _with(tensor: torch.Tensor, dim: int, size: int) -> list[int]:
    return [size if position == dim else each for position, each in enumerate(tensor.shape)]
