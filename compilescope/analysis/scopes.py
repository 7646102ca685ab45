"""What the stored source says about functions: their parameters, and which one a line belongs to.

A guard on ``L['k']`` looks the same for an argument and a free variable; two methods called ``forward`` look
the same in a traceback.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from compilescope.model import Location

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Scopes:
    """``sources`` maps paths to the text of the files as they were when the program ran."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources
        self._functions: dict[str, list[Function]] = {}

    def parameters(self, code: Location) -> frozenset[str] | None:
        """Names of a function's parameters, None when it is not in the stored sources."""
        functions = self._functions_of(code.file)
        names = [_names(f) for f in functions if _start(f) == code.line and _is_called(f, code.function)]
        return frozenset().union(*names) if names else None

    def start_of(self, file: str, line: int) -> int | None:
        """First line, decorators included, of the innermost function that ``line`` is in."""
        around = [f for f in self._functions_of(file) if _start(f) <= line <= (f.end_lineno or f.lineno)]
        return max((_start(f) for f in around), default=None)

    def _functions_of(self, file: str) -> list[Function]:
        known = self._functions.get(file)
        if known is None:
            known = self._functions[file] = _parse(self._sources.get(file, ""))
        return known


def _parse(text: str) -> list[Function]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)]


def _start(function: Function) -> int:
    """Python counts a function from its first decorator."""
    decorators = [] if isinstance(function, ast.Lambda) else function.decorator_list
    return min([function.lineno, *(d.lineno for d in decorators)])


def _is_called(function: Function, name: str) -> bool:
    return name == "<lambda>" if isinstance(function, ast.Lambda) else function.name == name


def _names(function: Function) -> frozenset[str]:
    a = function.args
    found = [*a.posonlyargs, *a.args, *a.kwonlyargs, *(x for x in (a.vararg, a.kwarg) if x is not None)]
    return frozenset(argument.arg for argument in found)
