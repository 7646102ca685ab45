"""Graphs as ``print_readable`` writes them: nodes with layouts, and the user line each stands under."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from compilescope.model.inductor.tensors import Tensor, printed_tensor
from compilescope.model.inductor.values import SourceLine

_FILE = re.compile(r"^# File: (.+?):(\d+) in (.+?)(?:, code: (.*))?$")
_NODE = re.compile(r'^(\w+)(?:: "([^"]*)")? = (.+)$')
_INPUT = re.compile(r'^(\w+): "([^"]*)",?(?:\s*# (.*))?$')
_INLINE_INPUT = re.compile(r'(\w+): "([^"]*)"')
_OUTPUT = re.compile(r"^(.+?),\s+# (.*)$")
_CALL = re.compile(r"^((?:torch|operator|aten|prims|math|builtins|self)[\w.]*|[\w.]+)\(")
_INDEX = re.compile(r"^(\w+)\[(\d*)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_NOT_CALLS = frozenset({"getitem", "get_attr", "other"})


@dataclass(frozen=True, slots=True)
class Node:
    """``op`` without ``torch.ops.``; ``getitem`` for an index, ``get_attr`` for an attribute.

    ``inputs``: names of nodes it reads.
    """

    name: str
    op: str
    tensor: Tensor | None
    annotation: str
    line: SourceLine | None
    inputs: tuple[str, ...]
    index: int | None = None  # of a ``getitem``


@dataclass(frozen=True, slots=True)
class Output:
    name: str
    label: str  # torch's description: PlainAOTOutput(idx=0), SavedForBackwardsAOTOutput(idx=4) ...


@dataclass(frozen=True, slots=True)
class FxGraph:
    """``inputs``: name -> (annotation, label)."""

    inputs: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    nodes: tuple[Node, ...] = ()
    outputs: tuple[Output, ...] = ()

    def by_name(self) -> dict[str, Node]:
        return {node.name: node for node in self.nodes}

    @property
    def calls(self) -> tuple[Node, ...]:
        """Nodes that compute: no index into a tuple of results, no attribute, no symbolic size."""
        return tuple(n for n in self.nodes if n.op not in _NOT_CALLS and not n.annotation.startswith("Sym("))


def parse_fx(text: str) -> FxGraph:
    """The outermost graph of a printed module; subgraphs of higher-order ops are left out. Never raises."""
    reader = _Reader()
    for line in text.split("\n"):
        if not reader.read(line.strip()):
            break
    return FxGraph(reader.inputs, tuple(reader.nodes), tuple(reader.outputs))


class _Reader:
    """Line by line: the signature, the body, what is returned."""

    def __init__(self) -> None:
        self.inputs: dict[str, tuple[str, str]] = {}
        self.nodes: list[Node] = []
        self.outputs: list[Output] = []
        self._known: set[str] = set()
        self._line: SourceLine | None = None
        self._part: Callable[[str], bool] = self._before

    def read(self, line: str) -> bool:
        """False when the graph is over."""
        return self._part(line)

    def _before(self, line: str) -> bool:
        if line.startswith("def forward("):
            for name, annotation in _INLINE_INPUT.findall(line):
                self.inputs[name] = (annotation, "")
            self._enter(self._body if line.endswith("):") else self._signature)
        return True

    def _signature(self, line: str) -> bool:
        if line == ")" or line.endswith("):"):
            self._enter(self._body)
        elif found := _INPUT.match(line):
            self.inputs[found.group(1)] = (found.group(2), found.group(3) or "")
        return True

    def _enter(self, part: Callable[[str], bool]) -> None:
        self._known.update(self.inputs)
        self._part = part

    def _body(self, line: str) -> bool:
        if line.startswith("# File: "):
            self._line = _source_line(line)
        elif line.startswith("# No stacktrace"):
            self._line = None
        elif line.startswith("return") and line.endswith("("):
            self._part = self._returned
        elif line.startswith("return"):
            self.outputs += [Output(name, "") for name in _NAME.findall(line[6:])]
            return False
        elif line.startswith(("class ", "def ")):
            return False
        elif found := _NODE.match(line):
            node = _node(found, self._line, self._known)
            self.nodes.append(node)
            self._known.add(node.name)
        return True

    def _returned(self, line: str) -> bool:
        if found := _OUTPUT.match(line):
            self.outputs.append(Output(found.group(1), found.group(2)))
        return line != ")"


def _source_line(comment: str) -> SourceLine | None:
    found = _FILE.match(comment)
    if not found:
        return None
    file, number, function, code = found.groups()
    return SourceLine(file, int(number), function, (code or "").strip())


def _node(found: re.Match[str], line: SourceLine | None, known: set[str]) -> Node:
    name, annotation, expression = found.groups()
    expression = expression.partition(";  ")[0]
    call, indexed = _CALL.match(expression), _INDEX.match(expression)
    if call:
        op = call.group(1).removeprefix("torch.ops.")
        body = expression[call.end() :]
    else:
        is_attribute = expression.startswith("self.")
        op = "get_attr" if is_attribute else "getitem" if indexed else "other"
        body = expression
    used = {word: None for word in _NAME.findall(body) if word in known}
    owner = op.partition(".")[0]
    if call and owner in known:  # a method of a node: `x.view(...)`
        used = {owner: None, **used}
    text = annotation or ""
    index = int(indexed.group(2)) if indexed and indexed.group(2) else None
    return Node(name, op, printed_tensor(text), text, line, tuple(used), index)


def lines_by_name(*graphs: FxGraph | None) -> dict[str, SourceLine]:
    """The user line of every named node; where graphs share a name the first graph's counts."""
    found: dict[str, SourceLine] = {}
    for graph in graphs:
        for node in graph.nodes if graph else ():
            if node.line is not None:
                found.setdefault(node.name, node.line)
    return found


def result_dtypes(graph: FxGraph | None) -> dict[tuple[str, int], str]:
    """(``aten.sort``, 1) -> ``int64``: what an op's results are, by op without overload and by index."""
    if graph is None:
        return {}
    nodes = graph.by_name()
    found: dict[tuple[str, int], str] = {}
    for node in graph.nodes:
        maker = nodes.get(node.inputs[0]) if node.op == "getitem" and node.inputs else None
        if maker is not None and node.index is not None and node.tensor is not None and node.tensor.dtype:
            found[base_op(maker.op), node.index] = node.tensor.dtype
        elif node.op != "getitem" and node.tensor is not None and node.tensor.dtype:
            found[base_op(node.op), -1] = node.tensor.dtype
    return found


def base_op(op: str) -> str:
    """``aten.mul.Tensor`` -> ``aten.mul``."""
    return ".".join(op.removeprefix("torch.ops.").split(".")[:2])
