"""Find the symbols of a captured graph, and which of them the user has given a ladder."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from compilescope.bucketing._torch import expression, finite, hint_of, source_name
from compilescope.errors import UsageError
from compilescope.observer import SymbolFact

Dims = Mapping[str, Mapping[int, str | None]]
"""Argument name -> dimension -> name of the symbol; None for a dimension that varies but has no ladder."""

TAG = "_compilescope_dims"
"""Attribute that carries ``{dim: name}`` on a real tensor from the caller to the backend.

Dynamo names a graph input after the frame it compiles, which need not be the user's (nn.Sequential is
traced from inside), so the argument's name is not enough; the backend sees the very tensor that was passed.
"""

ARGUMENT = "_compilescope_argument"
"""Attribute that carries the argument's name in the user's own signature, for the same reason."""


PASSED_ON = "_compilescope_passed_on"
"""Attribute of a tensor that goes from one graph over a graph break to the next: it is nobody's argument."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """An input of the graph. ``value`` is the fake tensor, SymInt or constant that Dynamo traced with.

    ``grapharg`` is Dynamo's record of the tensor that was passed, which holds it weakly. ``keeps_address`` is
    true of a module's parameters and buffers.
    """

    position: int
    name: str
    source: str
    value: Any
    grapharg: Any = None
    keeps_address: bool = False


@dataclass(frozen=True, slots=True)
class BoundName:
    """What a user's name is in this graph: ``symbols``, or a ``static`` size where Dynamo saw a constant."""

    symbols: tuple[Any, ...]
    static: int | None
    where: str


def check_dims(dims: Any) -> None:
    """Raises UsageError where ``dims`` is not of the form of :data:`Dims`."""
    hint = 'Write {"x": {0: "tokens"}}: argument, dimension counted from the front, name.'
    if not isinstance(dims, Mapping):
        raise UsageError(f"dims is {dims!r}", hint=hint)
    for argument, by_dim in dims.items():
        if not isinstance(by_dim, Mapping):
            raise UsageError(f"dims of {argument!r} is {by_dim!r}", hint=hint)
        for dim, name in by_dim.items():
            if not isinstance(dim, int) or dim < 0 or not isinstance(name, (str, type(None))):
                raise UsageError(f"dims of {argument!r} has {dim!r}: {name!r}", hint=hint)


def placeholders(graph_module: torch.fx.GraphModule) -> tuple[Placeholder, ...]:
    nodes = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
    return tuple(
        Placeholder(
            i,
            node.name,
            _source_of(node),
            traced_value(node),
            node.meta.get("grapharg"),
            bool((node.meta.get("tensor_dict") or {}).get("_dynamo_static_input_type")),
        )
        for i, node in enumerate(nodes)
    )


def traced_value(node: torch.fx.Node) -> Any:
    return node.meta.get("example_value", node.meta.get("val"))


def shape_env_of(inputs: Iterable[Placeholder]) -> Any:
    """The ShapeEnv the graph was traced in; None for a graph without symbols."""
    for each in inputs:
        if isinstance(each.value, torch.SymInt):
            return each.value.node.shape_env
        mode = getattr(each.value, "fake_mode", None)
        if mode is not None and mode.shape_env is not None:
            return mode.shape_env
    return None


def symbols_of(inputs: Iterable[Placeholder]) -> tuple[Any, ...]:
    """Every symbol of the inputs' sizes, strides, offsets and SymInts, in order of first use."""
    found: dict[Any, None] = {}
    for each in inputs:
        for value in _integers(each.value):
            found.update(dict.fromkeys(sorted(expression(value).free_symbols, key=str)))
    return tuple(found)


def accessors(inputs: Iterable[Placeholder]) -> dict[Any, str]:
    """Python that reads each symbol from the arguments ``a``: 'a[0]', or 'a[3].size(1)' without a SymInt."""
    found: dict[Any, str] = {}
    for each in inputs:
        if isinstance(each.value, torch.SymInt) and expression(each.value).is_Symbol:
            found.setdefault(expression(each.value), f"a[{each.position}]")
    for each in inputs:
        if isinstance(each.value, torch.Tensor):
            for method, values in (("size", each.value.shape), ("stride", each.value.stride())):
                for dim, value in enumerate(values):
                    if expression(value).is_Symbol:
                        found.setdefault(expression(value), f"a[{each.position}].{method}({dim})")
    return found


def bind_names(
    inputs: Sequence[Placeholder], examples: Sequence[Any], dims: Dims, wanted: Container[str]
) -> dict[str, BoundName]:
    """Which symbols each ``wanted`` name stands for here. A name no input carries is left out.

    One name may be several symbols (two arguments of equal length); it is static as soon as one of its
    dimensions is, and has neither where its dimension is an expression of other symbols.
    """
    seen: dict[str, list[tuple[Any, str]]] = {}
    for each, example in zip(inputs, examples, strict=True):
        if not isinstance(each.value, torch.Tensor):
            continue
        for dim, name in _names_of(each, example, dims).items():
            if name is not None and name in wanted and dim < each.value.dim():
                where = f"{argument_of(each) or each.name}.size({dim})"
                seen.setdefault(name, []).append((expression(each.value.shape[dim]), where))
    return {name: _bind(sizes) for name, sizes in seen.items()}


def argument_of(each: Placeholder) -> str:
    """ "L['x']" -> 'x', "L['args'][0]" -> 'args[0]'; '' for what is no argument of the frame."""
    if not each.source.startswith("L['"):
        return ""
    name, _, rest = each.source[3:].partition("']")
    return name + rest


def facts(shape_env: Any, symbols: Iterable[Any], names: Mapping[str, BoundName]) -> tuple[SymbolFact, ...]:
    """The symbols as plain values for the report."""
    owner = {symbol: name for name, bound in names.items() for symbol in bound.symbols}
    return tuple(
        SymbolFact(
            symbol=str(symbol),
            name=owner.get(symbol),
            sources=tuple(source_name(source) for source in shape_env.var_to_sources.get(symbol, ())),
            hint=hint_of(shape_env, symbol),
            low=finite(shape_env.var_to_range[symbol].lower) or 0,
            high=finite(shape_env.var_to_range[symbol].upper),
        )
        for symbol in symbols
    )


def _bind(sizes: list[tuple[Any, str]]) -> BoundName:
    static = [(int(size), where) for size, where in sizes if size.is_number]
    if static:
        return BoundName((), *static[0])
    derived = [(size, where) for size, where in sizes if not size.is_Symbol]
    if derived:
        size, where = derived[0]
        return BoundName((), None, f"{where}, which is {size}: derived from other sizes")
    return BoundName(tuple(dict.fromkeys(size for size, _ in sizes)), None, sizes[0][1])


def _names_of(each: Placeholder, example: Any, dims: Dims) -> Mapping[int, str | None]:
    # Dynamo passes fakes when it cuts the graph into pieces for DDP.
    passed = getattr(each.grapharg, "example", None) if isinstance(example, FakeTensor) else example
    tagged: Mapping[int, str | None] | None = getattr(passed, TAG, None)
    return tagged if tagged is not None else dims.get(argument_of(each), {})


def _source_of(node: torch.fx.Node) -> str:
    source = getattr(node, "_dynamo_source", None)
    return "" if source is None else source_name(source)


def _integers(value: Any) -> list[Any]:
    if isinstance(value, torch.SymInt):
        return [value]
    if isinstance(value, torch.Tensor) and value.layout == torch.strided:
        return [*value.shape, *value.stride(), value.storage_offset()]
    return []
