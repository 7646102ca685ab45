"""Every graph Dynamo hands to a backend: what goes in, where it ends, how often it runs and at which sizes.

The wrap sits on ``OutputGraph.call_user_compiler``, so it sees every backend (a name, a function, an
object) without touching it: backend identity, cache keys and guards stay as they are. What the backend
returned is replaced by a function that counts and calls through.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from compilescope.capture._call_times import (
    CallTimes,
    device_of,
    every_n,
    no_sizes,
    timing,
    timing_functions,
)
from compilescope.capture._patches import HookMissingError, Patch, Wrapper, patch
from compilescope.capture._session import Session
from compilescope.capture._stacks import Stacks

MAX_SIZES = 4096  # distinct size tuples kept per graph; further ones are counted as "other"


class GraphCounter:
    """Calls of one compiled graph. ``cell`` and ``sizes`` are written by the hot path, read by snapshots."""

    __slots__ = ("cell", "compile_id", "description", "serial", "sizes", "times")

    def __init__(self, serial: int, compile_id: Any, description: dict[str, Any]) -> None:
        self.serial = serial
        self.compile_id = compile_id
        self.description = description
        self.cell = [0]
        self.sizes: dict[Any, int] = {}
        self.times: CallTimes | None = None

    def calls(self) -> int:
        return self.cell[0] + sum(list(self.sizes.values()))

    def row(self) -> list[Any]:
        sizes = {_key(values): n for values, n in list(self.sizes.items())}
        if self.cell[0] and self.description.get("sizes"):
            sizes["other"] = self.cell[0]
        times = self.times.row() if self.times is not None else None
        return [self.serial, self.calls(), sizes or None, *([times] if times else [])]

    def clear(self) -> None:
        self.cell[0] = 0
        self.sizes.clear()
        if self.times is not None:
            self.times.clear()


class Graphs:
    """The graphs of one session."""

    def __init__(self, session: Session, stacks: Stacks) -> None:
        self._session = session
        self._stacks = stacks
        self.counters: list[GraphCounter] = []
        self.on_first_graph: Callable[[], None] = lambda: None
        self._time_every = every_n()

    def install(self) -> Patch:
        from torch._dynamo.output_graph import OutputGraph

        if not hasattr(OutputGraph, "call_user_compiler"):
            raise HookMissingError("OutputGraph.call_user_compiler is not there")
        return patch(OutputGraph, "call_user_compiler", self._make)

    def _make(self, original: Wrapper) -> Wrapper:
        session = self._session

        def call_user_compiler(self_: Any, gm: Any, *args: Any, **kwargs: Any) -> Any:
            if not session.active:
                return original(self_, gm, *args, **kwargs)
            described = session.safely(self._describe, self_, gm)
            compiled = original(self_, gm, *args, **kwargs)
            if described is None:
                return compiled
            counted = session.safely(self._register, self_, compiled, described)
            return compiled if counted is None else counted

        return call_user_compiler

    def _describe(self, output_graph: Any, gm: Any) -> dict[str, Any]:
        """Read before the backend runs: it may rewrite the graph in place."""
        placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
        described = [_placeholder(node) for node in placeholders]
        symbolic = [i for i, p in enumerate(described) if p["kind"] == "symint"]
        reason = getattr(output_graph, "compile_subgraph_reason", None)
        compiler = getattr(output_graph, "compiler_fn", None)
        return {
            "backend": _backend_name(compiler),
            "ops": sum(node.op in ("call_function", "call_method", "call_module") for node in gm.graph.nodes),
            "break": self._break_line(reason),
            "placeholders": described,
            "symbols": _symbols(placeholders),
            "sizes": [described[i]["name"] for i in symbolic],
            "_positions": symbolic,
        }

    def _break_line(self, reason: Any) -> dict[str, Any] | None:
        """The user line this graph ends at, when it ends at a graph break."""
        if reason is None or not getattr(reason, "graph_break", False):
            return None
        stack = list(getattr(reason, "user_stack", None) or [])
        if not stack:
            return None
        last = stack[-1]
        return {"file": self._stacks.file_id(last.filename), "line": last.lineno, "name": last.name}

    def _register(self, output_graph: Any, compiled: Any, described: dict[str, Any]) -> Any:
        positions = described.pop("_positions")
        countable = (
            not getattr(output_graph, "export", False) and getattr(output_graph, "package", None) is None
        )
        if not countable:
            described["uncounted"] = "the callable is exported or serialized, so it is not wrapped"
        counter = self.adopt(self._session.current_compile_id(), described)
        if not countable:
            return compiled
        return counting(self._timed(_ready(compiled), counter, positions), counter, positions)

    def _timed(self, compiled: Any, counter: GraphCounter, positions: list[int]) -> Any:
        """Inside the counter, so that a program that is not timed has one call less."""
        if not self._time_every:
            return compiled
        counter.times = CallTimes(device_of(counter.description))
        key_of = operator.itemgetter(*positions) if positions else no_sizes
        return dressed(timing(compiled, counter.times, key_of, self._time_every), compiled)

    def adopt(self, compile_id: Any, described: dict[str, Any]) -> GraphCounter:
        """A new counter, written as a `graph` record."""
        counter = GraphCounter(len(self.counters), compile_id, {**described, "g": len(self.counters)})
        self.write(counter)
        self.counters.append(counter)
        self.on_first_graph()
        return counter

    def forget_times(self, backend: str) -> None:
        """Calls that a bucketed model made to warm up say nothing about those that follow."""
        for counter in self.counters:
            if counter.times is not None and counter.description["backend"] == backend:
                counter.times.clear()

    def write(self, counter: GraphCounter, *, inherited: bool = False) -> None:
        fields = {**counter.description, "inherited": True} if inherited else counter.description
        self._session.writer.record("graph", {"m": fields}, c=counter.compile_id)


def counting(function: Any, counter: GraphCounter, positions: list[int]) -> Any:
    """``function`` with a counter in front. The hot path: one increment, no branch that can fail.

    With size placeholders the key is the tuple of their values (one value: the value itself). Keys beyond
    MAX_SIZES are counted without their size.
    """
    cell = counter.cell
    if not positions:

        def run(*args: Any) -> Any:
            cell[0] += 1
            return function(*args)

    else:
        sizes = counter.sizes
        sizes_of = operator.itemgetter(*positions)

        def run(*args: Any) -> Any:
            try:
                key = sizes_of(args)
                if key in sizes:
                    sizes[key] += 1
                elif len(sizes) < MAX_SIZES:
                    sizes[key] = 1
                else:
                    cell[0] += 1
            except Exception:
                cell[0] += 1
            return function(*args)

    return dressed(run, function)


def counting_functions() -> list[Any]:
    """The two shapes of counter, for marking their code as not Dynamo's business."""
    counter = GraphCounter(0, None, {})
    return [counting(len, counter, []), counting(len, counter, [0]), *timing_functions()]


def dressed(run: Any, function: Any) -> Any:
    """Names and attributes of the wrapped callable, less the marks by which Dynamo unwraps it."""
    for name in functools.WRAPPER_ASSIGNMENTS:
        if hasattr(function, name):
            setattr(run, name, getattr(function, name))
    if isinstance(function, type(run)):
        run.__dict__.update({k: v for k, v in vars(function).items() if not k.startswith("_torchdynamo")})
    return run


def _ready(compiled: Any) -> Any:
    """Dynamo compiles a lazily generated ``forward`` only when it sees it bare; do so on its behalf."""
    from torch.fx._lazy_graph_module import _LazyGraphModule

    owner = compiled if isinstance(compiled, _LazyGraphModule) else getattr(compiled, "__self__", None)
    if not isinstance(owner, _LazyGraphModule):
        return compiled
    if owner is not compiled and getattr(compiled, "__name__", "") != "_lazy_forward":
        return compiled
    _LazyGraphModule.force_recompile(owner)
    return compiled if owner is compiled else owner.forward


def _key(values: Any) -> str:
    return ",".join(str(v) for v in values) if isinstance(values, tuple) else str(values)


def _backend_name(compiler: Any) -> str | None:
    """'inductor', 'aot_eager', a function's name. Wrappers of torch name the backend they wrap."""
    for _ in range(5):
        name = getattr(compiler, "_compiler_name", None) or getattr(compiler, "compiler_name", None)
        if isinstance(name, str):
            return name
        inner = getattr(compiler, "_torchdynamo_orig_backend", None)
        if inner is None:
            break
        compiler = inner
    name = getattr(compiler, "__name__", None)
    return name if isinstance(name, str) else type(compiler).__name__ if compiler is not None else None


def _placeholder(node: Any) -> dict[str, Any]:
    """Name, kind, source and the (possibly symbolic) layout of one graph input."""
    import torch

    value = node.meta.get("example_value")
    described: dict[str, Any] = {"name": node.name, "kind": "other", "source": _source(node)}
    if isinstance(value, torch.Tensor):
        described |= {
            "kind": "tensor",
            "dtype": str(value.dtype).removeprefix("torch."),
            "device": str(value.device),
            "requires_grad": bool(value.requires_grad),
            "shape": [_size(n) for n in value.shape],
        }
        if value.layout == torch.strided:
            described["stride"] = [_size(n) for n in value.stride()]
    elif isinstance(value, torch.SymInt):
        described |= {"kind": "symint", "expr": str(value), **_hint_and_range(value)}
    elif isinstance(value, torch.SymFloat):
        described |= {"kind": "symfloat", "expr": str(value)}
    return described


def _source(node: Any) -> str | None:
    source = getattr(node, "_dynamo_source", None)
    if source is None:
        grapharg = node.meta.get("grapharg")
        source = getattr(grapharg, "source", None)
    name = getattr(source, "name", None)
    name = name() if callable(name) else name
    return name if isinstance(name, str) else None


def _size(value: Any) -> int | str:
    """A number also for a symbol that tracing has fixed, as torch prints it."""
    if type(value) is int:
        return value
    text = str(value)
    return int(text) if text.isdecimal() else text


def _hint_and_range(value: Any) -> dict[str, Any]:
    node = value.node
    hint = getattr(node, "_hint", None)
    described: dict[str, Any] = {"hint": hint if type(hint) is int else None}
    bounds = node.shape_env.var_to_range.get(node.expr) if node.shape_env is not None else None
    if bounds is not None:
        described["range"] = f"[{bounds.lower}, {bounds.upper}]"
    return described


def _symbols(placeholders: list[Any]) -> dict[str, Any]:
    """Each symbol's sources: more than one means dims tied together because they were equal when traced."""
    import torch

    shape_env = None
    for node in placeholders:
        value = node.meta.get("example_value")
        if isinstance(value, torch.SymInt):
            shape_env = value.node.shape_env
        elif isinstance(value, torch.Tensor):
            shape_env = getattr(getattr(value, "fake_mode", None), "shape_env", None)
        if shape_env is not None:
            break
    if shape_env is None:
        return {}
    sources = getattr(shape_env, "var_to_sources", {})
    ranges = getattr(shape_env, "var_to_range", {})
    symbols = {}
    for symbol, names in list(sources.items()):
        bounds = ranges.get(symbol)
        symbols[str(symbol)] = {
            "sources": [_name_of(s) for s in names],
            "range": None if bounds is None else f"[{bounds.lower}, {bounds.upper}]",
        }
    return symbols


def _name_of(source: Any) -> str:
    name = getattr(source, "name", None)
    return str(name() if callable(name) else name)
