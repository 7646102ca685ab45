"""Follow padded rows through a graph while it runs on fake tensors."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import fx
from torch.utils._python_dispatch import TorchDispatchMode

from compilescope.bucketing._torch import expression, user_line
from compilescope.bucketing.padding.contract import PaddingRefusedError
from compilescope.bucketing.padding.operation import Operation, arguments_of, tensors_in
from compilescope.bucketing.padding.rows import Axis, Rows
from compilescope.bucketing.padding.rules import (
    BEARS_INFINITY,
    BEARS_TAILS,
    COUNTING,
    MOVES_ENTRIES,
    RULES,
    TAKES_SIZES,
    attention_rule,
    pointwise_rule,
)
from compilescope.bucketing.padding.values import ANYTHING, FINITE, TRUTH, Values, exactly

_SOFTMAX = ("_softmax", "_safe_softmax", "_log_softmax", "logsumexp")
"""Infinities may go in, and a slope is a number where the result is."""

_NO_DATA = ("prim", "profiler", "inductor_prims")


class RowTracker(TorchDispatchMode):  # type: ignore[misc]
    """Gives every tensor its rows; raises PaddingRefusedError at the first operation that mixes them.

    ``symbol`` is the padded size in the world the graph runs in, ``trusted`` the arguments whose mask is
    declared to hide padded rows from operations we do not know. ``grad`` asks for finite padded rows.
    ``most`` is the largest size whose places can be looked up, ``entered`` what the graph has not left.
    """

    def __init__(self, symbol: Any, grad: bool, trusted: frozenset[str] = frozenset()) -> None:
        super().__init__()
        self.symbol = symbol
        self.random: list[str] = []
        self.taken_on_trust: list[str] = []
        self.written: set[int] = set()
        self.line: str | None = None
        self.most = sys.maxsize
        self.most_line: str | None = None
        self.entered: list[Any] = []
        self._grad = grad
        self._trusted = trusted
        self._rows: dict[int, Rows] = {}
        self._differentiable: set[int] = set()
        self._alive: list[torch.Tensor] = []

    def leave(self) -> None:
        """Leave what a graph that was not run to its end has entered."""
        while self.entered:
            torch.amp.autocast_mode._exit_autocast(self.entered.pop())

    def declare(self, tensor: torch.Tensor, rows: Rows) -> None:
        self._rows[id(tensor)] = rows
        self._alive.append(tensor)
        if tensor.requires_grad:
            self._differentiable.add(id(tensor))

    def rows(self, tensor: torch.Tensor) -> Rows:
        known = self._rows.get(id(tensor))
        if known is not None:
            return known
        if any(self.carries(size) for size in tensor.shape):
            raise self.refusal("a tensor of unknown origin", "has a padded size")
        return Rows((None,) * tensor.dim(), _known(tensor) or _of_dtype(tensor))

    def has_gradient(self, tensors: Sequence[torch.Tensor]) -> bool:
        """Whether a gradient may flow into one of them."""
        return self._grad and any(
            id(each) in self._differentiable or (id(each) not in self._rows and each.requires_grad)
            for each in tensors
        )

    def carries(self, value: Any) -> bool:
        """Whether a size or number depends on the padded size."""
        node = getattr(value, "node", None)
        return node is not None and self.symbol in node.expr.free_symbols

    def note_random(self, name: str) -> None:
        self.random.append(f"{name} at {self.line}" if self.line else name)

    def note_limit(self, size: int) -> None:
        if size < self.most:
            self.most, self.most_line = size, self.line

    def refusal(self, name: str, why: str) -> PaddingRefusedError:
        return PaddingRefusedError(f"{name} {why}", self.line)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        result = func(*args, **kwargs)
        if func.namespace not in _NO_DATA:
            self.follow(Operation(self, func, arguments_of(func, args, kwargs), result))
        return result

    def follow(self, operation: Operation) -> None:
        rule = self._rule(operation)
        if rule is None:
            return
        found = rule(operation)
        outputs = tensors_in(operation.result)
        rows = [found] * len(outputs) if isinstance(found, Rows) else found
        masks = frozenset().union(*(self.rows(each).masks for each in operation.tensors))
        for tensor, each in zip(outputs, rows, strict=True):
            among = each.among
            if operation.name in MOVES_ENTRIES and tensor.dtype in COUNTING:
                among = self.rows(operation.tensors[0]).among
            whole = _known(tensor) or each.whole
            self._store(operation, tensor, Rows(each.axes, whole, masks | each.masks, among))

    def attention(self, arguments: Mapping[str, Any], result: Any) -> None:
        """scaled_dot_product_attention, seen before it becomes what this device has for it."""
        operation = Operation(self, None, dict(arguments), result)
        self._store(operation, result, attention_rule(operation))

    def _rule(self, operation: Operation) -> Any:
        name = operation.name
        touched = operation.has_rows
        if operation.is_random and (touched or self._outputs_carry(operation)):
            self.note_random(name)
        if name not in TAKES_SIZES and any(self.carries(number) for number in operation.numbers):
            raise self.refusal(name, "computes with the padded size as a number")
        if touched and operation.reshapes_in_place:
            raise self.refusal(name, "changes the shape of padded rows in place")
        if touched and not (name in BEARS_TAILS or operation.is_pointwise) and operation.has_tails:
            raise self.refusal(
                name, "is given padded rows that are filled up to a size: cut them back before"
            )
        rule = RULES.get(name) or (pointwise_rule if operation.is_pointwise else None)
        if rule is not None:
            return rule
        if not touched and not self._outputs_carry(operation):
            return _untouched
        if self._trusted & frozenset().union(*(self.rows(each).masks for each in operation.tensors)):
            self.taken_on_trust.append(name)
            return _by_shape
        raise self.refusal(name, "is not known to keep rows apart")

    def _outputs_carry(self, operation: Operation) -> bool:
        return any(self.carries(size) for out in tensors_in(operation.result) for size in out.shape)

    def _store(self, operation: Operation, tensor: torch.Tensor, rows: Rows) -> None:
        sizes = list(zip(tensor.shape, rows.axes, strict=False))
        if len(rows.axes) != tensor.dim() or any(axis is None and self.carries(size) for size, axis in sizes):
            raise self.refusal(operation.name, "is not known to keep rows apart")
        if operation.has_gradient and tensor.dtype.is_floating_point and operation.name != "detach":
            self._differentiable.add(id(tensor))
            self._check_slope(operation, rows)
        if not operation.writes(tensor):
            self.declare(tensor, rows)
            return
        before = self._rows.get(id(tensor))
        if before is not None and not _same_axes(before, rows):
            raise self.refusal(operation.name, "writes padded rows into a tensor without, in place")
        self._check_base(operation, tensor, rows)
        self.written.add(tensor.untyped_storage()._cdata)
        self._written(tensor, rows)
        self.declare(tensor, rows)

    def _check_base(self, operation: Operation, written: torch.Tensor, rows: Rows) -> None:
        """Of a tensor that is not padded, such as a cache, only the real rows may be written."""
        storage = written.untyped_storage()._cdata
        base = next(each for each in self._alive if each.untyped_storage()._cdata == storage)
        if rows.has_axis and not self.rows(base).has_axis:
            raise self.refusal(operation.name, "writes padded rows into a part of a tensor, in place")

    def _check_slope(self, operation: Operation, rows: Rows) -> None:
        """Zero gradient times an infinite slope is nan, and reaches every weight."""
        if operation.name in _SOFTMAX:
            is_safe = all(axis.pads.number for axis in rows.axes if axis is not None)
        else:
            tensors = [each for each in operation.tensors if each is not operation.attention_mask]
            given = [axis for each in tensors for axis in self._float_axes(each)]
            made = [axis for axis in rows.axes if axis is not None]
            is_safe = operation.name in BEARS_INFINITY or all(axis.pads.finite for axis in (*given, *made))
        if not is_safe:
            raise self.refusal(
                operation.name,
                "may be infinite on padded rows, and zero times infinity reaches the gradients",
            )

    def _float_axes(self, tensor: torch.Tensor) -> list[Axis]:
        axes = self.rows(tensor).axes if tensor.dtype.is_floating_point else ()
        return [axis for axis in axes if axis is not None]

    def _written(self, written: torch.Tensor, rows: Rows) -> None:
        """What shares the memory of a written tensor has entries of before, or those that were written."""
        storage = written.untyped_storage()._cdata
        has_gradient = id(written) in self._differentiable
        for tensor in self._alive:
            before = self._rows.get(id(tensor))
            if before is None or tensor.untyped_storage()._cdata != storage:
                continue
            new = rows.whole if tensor.dtype == written.dtype else ANYTHING
            axes = tuple(axis and axis.with_pads(axis.pads.join(new)) for axis in before.axes)
            self._rows[id(tensor)] = Rows(axes, before.whole.join(new), before.masks | rows.masks)
            if has_gradient:
                self._differentiable.add(id(tensor))


class GraphWalk(fx.Interpreter):  # type: ignore[misc]
    """Runs a graph of Dynamo's under a tracker, so that a refusal knows the user's line."""

    def __init__(self, module: fx.GraphModule, tracker: RowTracker, fake_mode: Any) -> None:
        super().__init__(module, garbage_collect_values=False)
        self._tracker = tracker
        self._fake_mode = fake_mode

    def run_node(self, node: fx.Node) -> Any:
        self._tracker.line = line_of(node) or self._tracker.line
        return super().run_node(node)

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        value = super().get_attr(target, args, kwargs)
        if isinstance(value, torch.Tensor):
            value = self._fake_mode.from_tensor(value, static_shapes=True)
        return value

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target in _ATTENTION:
            bound = dict(zip(_ATTENTION_ARGUMENTS, args, strict=False)) | dict(kwargs)
            with torch.utils._python_dispatch._disable_current_modes(), self._fake_mode:
                result = target(*args, **kwargs)
            self._tracker.attention(bound, result)
            return result
        if isinstance(target, torch._ops.HigherOrderOperator):
            return self._higher_order(target, args, kwargs)
        if getattr(target, "__module__", "").startswith("torch._functorch"):
            raise self._tracker.refusal(target.__name__, "is a transform of functions")
        result = super().call_function(target, args, kwargs)
        if target is torch.amp.autocast_mode._enter_autocast:
            self._tracker.entered.append(result)
        elif target is torch.amp.autocast_mode._exit_autocast:
            self._tracker.entered.remove(args[0])
        return result

    def _higher_order(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target.name() == "tag_activation_checkpoint":
            return GraphWalk(args[0], self._tracker, self._fake_mode).run(*args[1:])
        if any(self._tracker.rows(each).has_axis for each in tensors_in(args)):
            raise self._tracker.refusal(target.name(), "is a control-flow operator given padded rows")
        return super().call_function(target, args, kwargs)


def line_of(node: fx.Node) -> str | None:
    """'x.sum(0)  # model.py:12 in forward'."""
    found = user_line(node.stack_trace)
    return None if found is None else f"{found.code}  # {found.path}:{found.line} in {found.function}"


def _same_axes(before: Rows, after: Rows) -> bool:
    return all(
        (a is None) == (b is None) and (a is None or b is None or a.aligns_with(b))
        for a, b in zip(before.axes, after.axes, strict=True)
    )


def _known(tensor: torch.Tensor) -> Values | None:
    """A number that the graph makes of numbers: fake tensors carry it."""
    value = getattr(tensor, "constant", None)
    if value is None or value.numel() != 1 or value.is_complex():
        return None
    with torch.utils._python_dispatch._disable_current_modes():
        return exactly(value.item())


def _untouched(operation: Operation) -> list[Rows]:
    return [Rows((None,) * out.dim(), _of_dtype(out)) for out in tensors_in(operation.result)]


def _of_dtype(tensor: torch.Tensor) -> Any:
    return TRUTH if tensor.dtype == torch.bool else FINITE


def _by_shape(operation: Operation) -> list[Rows]:
    """Taken on trust: every dimension of the padded size is taken for its rows."""
    return [
        Rows(tuple(Axis(expression(s)) if operation.carries(s) else None for s in out.shape))
        for out in tensors_in(operation.result)
    ]


_ATTENTION = (
    torch.nn.functional.scaled_dot_product_attention,
    torch._C._nn.scaled_dot_product_attention,
    torch.ops.aten.scaled_dot_product_attention,
    torch.ops.aten.scaled_dot_product_attention.default,
)
"""Taken as a whole, before a mask of truths becomes the number that a device's kernel takes for hiding."""
_ATTENTION_ARGUMENTS = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")
