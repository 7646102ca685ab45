"""The launches of one call of a graph, in order, from the generated code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from compilescope.model.inductor import kinds
from compilescope.model.inductor._environment import Environment, base_name
from compilescope.model.inductor._signature import Signature, signature
from compilescope.model.inductor._text import arguments
from compilescope.model.inductor.fx_text import base_op
from compilescope.model.inductor.output_code import OutputCode, Statement
from compilescope.model.inductor.sizes import Size, size
from compilescope.model.inductor.tensors import Tensor
from compilescope.model.inductor.values import Launch, Operand, SourceLine

MAX_DEPTH = 8
_TRITON = re.compile(r"^(\w+)\.run\(")
_PLAIN = re.compile(r"^(\w+)\(")
_EXTERN = re.compile(
    r"^(?:(?P<result>[\w, ()]+?) = )?(?P<name>(?:extern_kernels|aten|torch\.ops\.\w+)\.[\w.]+)\("
)
_COPY = re.compile(r"^(\w+)\.copy_\(")
_PARTITION = re.compile(r"self\.partitions\[(\d+)\]\(")
_CALLED = re.compile(r"(?:^|= )\(?(\w+)\(")
_NOT_LAUNCHES = ("torch.ops.inductor._reinterpret_tensor", "torch.ops.inductor._alloc_from_pool")

Lines = Mapping[str, SourceLine]
Dtypes = Mapping[tuple[str, int], str]  # (op without overload, index of the result or -1) -> dtype


@dataclass(frozen=True, slots=True)
class Step:
    """A statement as it is reached, with the function it stands in; ``launch`` where it launches."""

    statement: Statement
    function: str
    launch: Launch | None


@dataclass(frozen=True, slots=True)
class Walk:
    """``tensors`` gives the layout of any name, once all statements have been seen."""

    steps: tuple[Step, ...]
    tensors: Callable[[str], Tensor | None]
    root: Callable[[str], str]  # the first name of the same storage

    @property
    def launches(self) -> tuple[Launch, ...]:
        return tuple(step.launch for step in self.steps if step.launch is not None)


def walk(code: OutputCode, lines: Lines | None = None, dtypes: Dtypes | None = None) -> Walk:
    """Every statement of one call. Partitions and branches stand where they are called, each once.

    ``lines``: the user's line of each name in Dynamo's and AOTAutograd's graphs, as far as known;
    ``dtypes``: what each op's results are, which the code of a library call does not say.
    """
    signatures = {name: signature(definition) for name, definition in code.definitions.items()}
    environment = Environment(code.inputs)
    context = _Context(code, environment, signatures, lines or {}, dtypes or {})
    steps = list(_walk(context, "call", frozenset()))
    return Walk(tuple(_completed(step, environment) for step in steps), environment.of, environment.root)


def _completed(step: Step, environment: Environment) -> Step:
    """Layouts that the code states only after the launch: results of libraries, dtypes from a later use."""
    launch = step.launch
    if launch is None or all(o.tensor is not None and o.tensor.dtype for o in launch.operands):
        return step
    operands: list[Operand] = []
    for operand in launch.operands:
        if operand.tensor is None:
            operands += [
                Operand(n, operand.role, environment.of(n)) for n in environment.results(operand.name)
            ]
        elif operand.tensor.dtype is None:
            base = environment.of(operand.name)
            dtype = base.dtype if base else None
            operands.append(replace(operand, tensor=replace(operand.tensor, dtype=dtype)))
        else:
            operands.append(operand)
    filled = replace(launch, operands=tuple(operands), bytes_moved=_moved(tuple(operands)))
    return replace(step, launch=filled)


@dataclass(frozen=True, slots=True)
class _Context:
    code: OutputCode
    environment: Environment
    signatures: Mapping[str, Signature]
    lines: Lines
    dtypes: Dtypes


def _walk(context: _Context, function: str, above: frozenset[str]) -> Iterator[Step]:
    if function in above or len(above) > MAX_DEPTH:
        return
    for statement in context.code.functions.get(function, ()):
        context.environment.follow(statement.text)
        inner = _called(context.code, statement.text)
        if inner:
            yield from _walk(context, inner, above | {function})
            yield Step(statement, function, None)
            continue
        yield Step(statement, function, _launch(statement, function, context))


def _called(code: OutputCode, text: str) -> str | None:
    found = _PARTITION.search(text)
    if found:
        return f"partition_{found.group(1)}"
    called = _CALLED.search(text)
    return called.group(1) if called and called.group(1) in code.functions else None


def _launch(statement: Statement, function: str, context: _Context) -> Launch | None:
    recognized = recognize(statement.text, context.signatures)
    if recognized is None:
        return None
    name, kind, start, result = recognized
    pieces, _ = arguments(statement.text, start)
    own = context.signatures.get(name)
    if own is not None:
        operands = _compiled_operands(own, pieces, context.environment)
    else:
        operands = _extern_operands(name, kind, pieces, result, context)
    return Launch(
        kernel=name,
        kind=kind,
        function=function,
        operands=operands,
        sources=statement.sources,
        aten=statement.aten,
        lines=_lines(statement.sources, context.lines, only_last=own is None),
        bytes_moved=_moved(operands),
        text=statement.text,
    )


def recognize(text: str, signatures: Mapping[str, Signature]) -> tuple[str, str, int, str | None] | None:
    """(name, kind, where its arguments begin, name of the result); None if the statement launches nothing."""
    if (found := _TRITON.match(text)) and (
        found.group(1) in signatures or "stream=" in text or found.group(1).startswith(tuple(kinds.OF_PREFIX))
    ):
        own = signatures.get(found.group(1))
        kind = own.kind if own else kinds.of_triton_name(found.group(1))
        return found.group(1), kind, found.end(), None
    if found := _COPY.match(text):
        return "copy_", kinds.COPY, found.end(), found.group(1)
    if found := _EXTERN.match(text):
        name = found.group("name")
        if name in _NOT_LAUNCHES:
            return None
        return name, kinds.of_extern(name), found.end(), found.group("result")
    if (found := _PLAIN.match(text)) and (
        found.group(1) in signatures or found.group(1).startswith("cpp_fused")
    ):
        own = signatures.get(found.group(1))
        return found.group(1), own.kind if own else kinds.CPP_LOOP, found.end(), None
    return None


def _compiled_operands(own: Signature, pieces: list[str], environment: Environment) -> tuple[Operand, ...]:
    operands = []
    for parameter, piece in zip(own.parameters, pieces, strict=False):
        if parameter.role == "size":
            continue
        name = base_name(piece)
        environment.learn_dtype(name, parameter.dtype)
        operands.append(Operand(name, parameter.role, environment.of(piece)))
    return tuple(operands)


def _extern_operands(
    name: str, kind: str, pieces: list[str], result: str | None, context: _Context
) -> tuple[Operand, ...]:
    operands = []
    for piece in pieces:
        word, _, value = piece.partition("=")
        is_out = word.startswith("out") and value and word.isidentifier()
        expression = value if is_out else piece
        tensor = context.environment.of(expression)
        if tensor is not None:
            operands.append(Operand(base_name(expression), "out" if is_out else "in", tensor))
    if result and result.isidentifier():
        tensor = context.environment.of(result) if kind == kinds.COPY else None
        if kind != kinds.COPY:
            context.environment.library_result(result, _result_dtypes(name, kind, operands, context.dtypes))
        operands.append(Operand(result, "out", tensor))
    return tuple(operands)


def _result_dtypes(name: str, kind: str, operands: list[Operand], dtypes: Dtypes) -> dict[int, str]:
    """By index, -1 for a single result: as the graph says, else the first is like the library's input."""
    op = base_op(name)
    stated = {index: dtype for (maker, index), dtype in dtypes.items() if maker == op}
    known = next((o.tensor.dtype for o in operands if o.tensor and o.tensor.dtype), None)
    assumed = {-1: known, 0: known} if known and kind in kinds.LIBRARY_KINDS else {}
    return {**assumed, **stated}


def _moved(operands: tuple[Operand, ...]) -> Size | None:
    """Bytes read plus bytes written: each operand once, in-out operands twice. None if no size is known."""
    seen: dict[tuple[str, str], Size] = {}
    for operand in operands:
        found = operand.tensor.size_bytes if operand.tensor else None
        if found is not None:
            seen[operand.name, operand.role] = found * (2 if operand.role == "inout" else 1)
    if not seen:
        return None
    total = size(0)
    for found in seen.values():
        total = total + found
    return total


def _lines(sources: tuple[str, ...], lines: Lines, *, only_last: bool) -> tuple[SourceLine, ...]:
    """An extern call's provenance lists what is upstream too: its own node comes last."""
    names = sources[-1:] if only_last else sources
    found = {lines[name]: None for name in names if name in lines}
    return tuple(found)
