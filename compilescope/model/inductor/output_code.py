"""Inductor's generated Python, cut into kernel definitions, called functions and what they are fed.

Line by line, without executing or fully parsing it: a torn text gives what is there. Output of the C++
wrapper (``cpp_wrapper=True``) has no Python calls: see :mod:`compilescope.model.inductor.cpp_wrapper`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from compilescope.model.inductor._text import arguments, tuple_items
from compilescope.model.inductor.tensors import Tensor, dtype_of

_DEFINITION = re.compile(r"^(\w+) = async_compile\.(\w+)\(")
_AOT_ID = re.compile(r"^# AOT ID: \['(\d+)_(\w+)'\]", re.M)
_FUNCTION = re.compile(r"^(\s*)def (\w+)\(")
_INPUT = re.compile(r"^\s+(\w+) = rand_strided\(")
_GLOBAL = re.compile(r"^\s+global (\w+)$")
_NUMBER = re.compile(r"^\s+(\w+) = (-?\d+)$")
_NAME = re.compile(r"^\s+(s\d+|u\d+|\w+) = (\w+)$")
_NOT_OURS = frozenset({"__init__", "recursively_apply_fns", "get_args", "benchmark_compiled_module"})
_PROVENANCE = "# Topologically Sorted Source Nodes: ["


@dataclass(frozen=True, slots=True)
class Definition:
    """One kernel as defined: ``language`` is the method of ``async_compile`` that compiles it."""

    name: str
    language: str
    source: str
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """A line of a called function. ``sources`` and ``aten`` are from the provenance comment above it."""

    text: str
    line: int
    sources: tuple[str, ...] = ()
    aten: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OutputCode:
    """``inputs`` are the graph's inputs with the sizes of the example call, ``hints`` its symbols' values."""

    aot_id: int | None
    direction: str | None  # forward | backward | inference
    definitions: Mapping[str, Definition]
    functions: Mapping[str, tuple[Statement, ...]]
    inputs: Mapping[str, Tensor] = field(default_factory=dict)
    hints: Mapping[str, int] = field(default_factory=dict)
    constants: frozenset[str] = frozenset()  # tensors the code holds itself: they are in ``inputs`` too


def parse_output_code(text: str) -> OutputCode:
    """Never raises; of a text that is something else everything is empty."""
    lines = text.split("\n")
    definitions, rest = _definitions(lines)
    found = _AOT_ID.search(text[:4096])
    functions = {name: body for name, body in _functions(rest) if name not in _NOT_OURS}
    inputs, numbers = _example(rest)
    return OutputCode(
        aot_id=int(found.group(1)) if found else None,
        direction=found.group(2) if found else None,
        definitions=definitions,
        functions=functions,
        inputs=inputs,
        hints={**numbers, **_symbols(functions, numbers)},
        constants=frozenset(found.group(1) for _, line in rest if (found := _GLOBAL.match(line))),
    )


def _definitions(lines: list[str]) -> tuple[dict[str, Definition], list[tuple[int, str]]]:
    """Kernel definitions, and the numbered lines that are not inside one."""
    definitions: dict[str, Definition] = {}
    rest: list[tuple[int, str]] = []
    comments: list[str] = []
    i = 0
    while i < len(lines):
        line = lines[i]
        found = _DEFINITION.match(line)
        if found:
            end = _definition_end(lines, i)
            name, language = found.groups()
            definitions[name] = Definition(name, language, "\n".join(lines[i : end + 1]), tuple(comments))
            i, comments = end + 1, []
            continue
        if line.startswith("#"):
            comments.append(line)
        elif comments:
            comments = []
        rest.append((i + 1, line))
        i += 1
    return definitions, rest


def _definition_end(lines: list[str], start: int) -> int:
    """The line that closes the triple-quoted source, or the call itself where there is none."""
    opening = lines[start]
    if "'''" not in opening:
        depth = 0
        for i in range(start, min(start + 1000, len(lines))):
            depth += lines[i].count("(") - lines[i].count(")")
            if depth <= 0:
                return i
        return start
    if opening.count("'''") > 1:
        return start
    for i in range(start + 1, len(lines)):
        if lines[i].startswith("'''"):
            return i
    return len(lines) - 1


def _functions(numbered: list[tuple[int, str]]) -> Iterator[tuple[str, tuple[Statement, ...]]]:
    name, indent, body = "", 0, list[tuple[int, str]]()
    for number, line in [*numbered, (0, "end")]:
        found = _FUNCTION.match(line)
        outside = bool(line.strip()) and len(line) - len(line.lstrip()) <= indent
        if name and (found or outside):
            yield name, tuple(_statements(body))
            name, body = "", []
        if found:
            name, indent = found.group(2), len(found.group(1))
        elif name:
            body.append((number, line))


def _statements(body: list[tuple[int, str]]) -> Iterator[Statement]:
    """Two statements on one line (``buf2 = buf1; del buf1  # reuse``) stay together."""
    sources: tuple[str, ...] = ()
    aten: tuple[str, ...] = ()
    for number, line in body:
        text = line.strip()
        if text.startswith(_PROVENANCE):
            sources, aten = _provenance(text)
        elif text and not text.startswith("#"):
            yield Statement(text, number, sources, aten)
            if "(" in text and not _between_comment_and_launch(text):
                sources, aten = (), ()


def _between_comment_and_launch(text: str) -> bool:
    """The stream and the symbolic sizes of a launch stand between its provenance comment and itself."""
    return "get_raw_stream(" in text or "numel = " in text


def _provenance(comment: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    sources, _, aten = comment.removeprefix(_PROVENANCE).partition("], Original ATen: [")
    split = [tuple(n.strip() for n in part.strip("]").split(",") if n.strip()) for part in (sources, aten)]
    return split[0], split[1]


def _example(numbered: list[tuple[int, str]]) -> tuple[dict[str, Tensor], dict[str, int]]:
    """What ``get_args`` (the benchmark at the end) makes: every input's layout and every size's value."""
    inputs: dict[str, Tensor] = {}
    numbers: dict[str, int] = {}
    inside = False
    for _, line in numbered:
        if line.startswith(("def get_args", "def benchmark_compiled_module")):
            inside = True
        elif inside and line and not line.startswith(" "):
            inside = False
        elif inside and (found := _INPUT.match(line)):
            inputs[found.group(1)] = _rand_strided(line, found.end())
        elif inside and (found := _NUMBER.match(line)):
            numbers[found.group(1)] = int(found.group(2))
    return inputs, numbers


def _rand_strided(line: str, start: int) -> Tensor:
    pieces = arguments(line, start)[0]
    words = {
        name.strip(): value for name, _, value in (p.partition("=") for p in pieces[2:]) if value is not None
    }
    shape, stride = (tuple_items(p) for p in [*pieces, "", ""][:2])
    dtype = words.get("dtype")
    device = words.get("device", "").strip("'\"")
    return Tensor(dtype_of(dtype) if dtype else None, shape, stride, device or None)


def _symbols(functions: Mapping[str, tuple[Statement, ...]], numbers: Mapping[str, int]) -> dict[str, int]:
    """``s27 = primals_1`` at the top of a function names the symbol an integer input stands for."""
    found: dict[str, int] = {}
    for body in functions.values():
        for statement in body[:400]:
            match = _NAME.match(" " + statement.text)
            if match and match.group(2) in numbers:
                found[match.group(1)] = numbers[match.group(2)]
    return found
