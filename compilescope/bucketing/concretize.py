"""One rung's private world: bucketed symbols are numbers in it, every other symbol is minted anew.

Compiling there cannot leak a guard or a replacement into the frame's own ShapeEnv, and whatever makes the
rung special is in its graph and arguments, so that a cache can never serve it under another rung's key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StrictMinMaxConstraint
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges

from compilescope.bucketing._torch import expression, hint_of
from compilescope.bucketing.identify import ARGUMENT, PASSED_ON, Placeholder, symbols_of, traced_value
from compilescope.observer import InputLayout


@dataclass(frozen=True, slots=True)
class ExampleTraits:
    """What must come from the real argument and not from its fake: autograd reads these."""

    requires_grad: bool
    is_parameter: bool
    is_leaf: bool = True
    argument: str = ""
    is_passed_on: bool = False

    @classmethod
    def of(cls, example: Any) -> ExampleTraits:
        is_tensor = isinstance(example, torch.Tensor)
        is_parameter = isinstance(example, torch.nn.Parameter)
        return cls(
            requires_grad=is_tensor and example.requires_grad,
            is_parameter=is_parameter,
            is_leaf=not is_tensor or example.is_leaf,
            argument=getattr(example, ARGUMENT, ""),
            is_passed_on=getattr(example, PASSED_ON, False),
        )


class PrivateWorld:
    """``sizes`` fixes symbols; ``hints`` and ``spans`` say how the others are tuned and within which bounds.

    ``equal`` maps symbols to others that they are taken to be equal to.

    Raises LookupError for a symbol without a size at trace time (it comes from data) that is not fixed.
    """

    def __init__(
        self,
        inputs: Sequence[Placeholder],
        traits: Sequence[ExampleTraits],
        shape_env: Any,
        sizes: Mapping[Any, int],
        hints: Mapping[Any, int] | None = None,
        spans: Mapping[Any, tuple[int, int | None]] | None = None,
        equal: Mapping[Any, Any] | None = None,
    ) -> None:
        self.shape_env = ShapeEnv()
        self.fake_mode = FakeTensorMode(shape_env=self.shape_env)
        self.mapping: dict[Any, Any] = {symbol: sympy.Integer(size) for symbol, size in sizes.items()}
        self.free: dict[Any, Any] = {}
        self._hints: dict[Any, int] = {}
        for symbol in symbols_of(inputs):
            if symbol not in self.mapping and symbol not in (equal or {}):
                self._mint(shape_env, symbol, hints or {}, spans or {})
        self.mapping |= {symbol: self.mapping[other] for symbol, other in (equal or {}).items()}
        self.ranges_before = {mine: self.shape_env.var_to_range[mine] for mine in self.free}
        with self.fake_mode:
            self.arguments = [
                self._argument(each.value, trait) for each, trait in zip(inputs, traits, strict=True)
            ]
        self.layouts = tuple(
            _layout(each.name, argument)
            for each, argument in zip(inputs, self.arguments, strict=True)
            if isinstance(argument, torch.Tensor)
        )

    def span_after(self, symbol: Any) -> Any:
        """The range of the graph's ``symbol`` once compiled: the code may assume more than was asked for."""
        return self.shape_env.var_to_range[self.mapping[symbol]]

    def _mint(self, theirs: Any, symbol: Any, hints: Mapping[Any, int], spans: Mapping[Any, Any]) -> None:
        hint = hints.get(symbol, hint_of(theirs, symbol))
        if hint is None:
            raise LookupError(f"{symbol} has no size at trace time: it comes from data")
        span = theirs.var_to_range[symbol]
        if symbol in spans:
            low, high = spans[symbol]
            span = span & ValueRanges(low, int_oo if high is None else high)
        mine = self.shape_env.create_symbol(
            hint,
            theirs.var_to_sources[symbol][0],
            DimDynamic.DYNAMIC,
            StrictMinMaxConstraint(vr=span, warn_only=False),
            do_not_specialize_zero_one=True,
        )
        self.mapping[symbol] = mine
        self.free[mine] = symbol
        self._hints[mine] = hint

    def _integer(self, value: Any) -> Any:
        if not isinstance(value, torch.SymInt):
            return value
        private = expression(value).xreplace(self.mapping)
        if private.is_number:
            return int(private)
        return self.shape_env.create_symintnode(private, hint=int(private.xreplace(self._hints)), source=None)

    def _argument(self, value: Any, traits: ExampleTraits) -> Any:
        if isinstance(value, torch.SymInt):
            return self._integer(value)
        if not isinstance(value, torch.Tensor):
            return value
        tensor = self._storage_exactly_as_long_as_needed(value)
        if traits.is_parameter:
            return torch.nn.Parameter(tensor, requires_grad=traits.requires_grad)
        if traits.requires_grad and not traits.is_leaf:
            return _with_history(tensor)
        return tensor.requires_grad_(True) if traits.requires_grad else tensor

    def _storage_exactly_as_long_as_needed(self, value: torch.Tensor) -> torch.Tensor:
        shape = tuple(self._integer(size) for size in value.shape)
        stride = tuple(self._integer(step) for step in value.stride())
        offset = self._integer(value.storage_offset())
        if isinstance(offset, int) and offset == 0:
            return torch.empty_strided(shape, stride, dtype=value.dtype, device=value.device)
        length = 1 + offset + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
        return torch.empty(length, dtype=value.dtype, device=value.device).as_strided(shape, stride, offset)


def literal_copy(graph_module: torch.fx.GraphModule, mapping: Mapping[Any, Any]) -> torch.fx.GraphModule:
    """A copy of the graph, attributes shared, with a literal wherever ``mapping`` makes a size a number.

    A plain int among the example inputs would be made a new symbol by AOTAutograd: the static rung would not
    be static. Scalars that Dynamo has specialized are made literal too: an ``.item()`` of theirs would be
    data-dependent again when the graph is traced a second time.
    """
    graph = fx.Graph()
    graph.output(graph.graph_copy(graph_module.graph, {}))
    for node in list(graph.nodes):
        # The unbacked symbols these name belong to the first trace; the second finds its own.
        node.meta = {
            key: value for key, value in node.meta.items() if key not in ("unbacked_bindings", "grapharg")
        }
        literal = _literal(traced_value(node), mapping, node.op == "placeholder")
        if literal is not None:
            _replace_uses(node, literal)
            if node.op != "placeholder" and not node.users:
                graph.erase_node(node)
    copy = fx.GraphModule(graph_module, graph)
    copy.meta = dict(graph_module.meta)
    _keep_sources(graph_module, copy)
    return copy


def _literal(value: Any, mapping: Mapping[Any, Any], is_placeholder: bool) -> int | float | None:
    if not isinstance(value, (torch.SymInt, torch.SymFloat)) or (
        is_placeholder and not isinstance(value, torch.SymInt)
    ):
        return None
    private = value.node.expr.xreplace(mapping) if is_placeholder else value.node.expr
    if not private.is_number:
        return None
    return int(private) if isinstance(value, torch.SymInt) else float(private)


def _replace_uses(node: fx.Node, literal: int | float) -> None:
    for user in list(node.users):
        user.args = fx.node.map_arg(user.args, lambda each: literal if each is node else each)
        user.kwargs = fx.node.map_arg(user.kwargs, lambda each: literal if each is node else each)


def _keep_sources(original: torch.fx.GraphModule, copy: torch.fx.GraphModule) -> None:
    """AOTAutograd tells parameters from other inputs by these."""
    originals = (node for node in original.graph.nodes if node.op == "placeholder")
    copies = (node for node in copy.graph.nodes if node.op == "placeholder")
    for before, after in zip(originals, copies, strict=True):
        if hasattr(before, "_dynamo_source"):
            after._dynamo_source = before._dynamo_source
    if hasattr(original, "_param_name_to_source"):
        copy._param_name_to_source = original._param_name_to_source


def _with_history(tensor: torch.Tensor) -> torch.Tensor:
    """What is written into a leaf is hidden from autograd; what is written into an activation is not."""
    with torch.inference_mode(False), torch.enable_grad():
        leaf = torch.empty((), dtype=tensor.dtype, device=tensor.device, requires_grad=True)
        try:
            return tensor.copy_(leaf)
        except RuntimeError:  # entries that share their memory cannot be written: then it is a view
            return tensor.requires_grad_(True).view_as(tensor)


def _layout(name: str, tensor: torch.Tensor) -> InputLayout:
    def plain(value: Any) -> int | str:
        return value if isinstance(value, int) else str(expression(value))

    return InputLayout(
        name=name,
        shape=tuple(plain(size) for size in tensor.shape),
        stride=tuple(plain(step) for step in tensor.stride()),
        storage_offset=plain(tensor.storage_offset()),
        dtype=str(tensor.dtype).removeprefix("torch."),
        device=str(tensor.device),
        requires_grad=tensor.requires_grad,
    )
