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
        self._trees: dict[str, ast.Module | None] = {}

    def parameters(self, code: Location) -> frozenset[str] | None:
        """Names of a function's parameters, None when it is not in the stored sources."""
        functions = self._functions_of(code.file)
        names = [_names(f) for f in functions if _start(f) == code.line and _is_called(f, code.function)]
        return frozenset().union(*names) if names else None

    def variadic(self, code: Location) -> frozenset[str]:
        """Names of ``*args`` and ``**kwargs``: an item of them is an argument."""
        found = [
            f
            for f in self._functions_of(code.file)
            if _start(f) == code.line and _is_called(f, code.function)
        ]
        return frozenset(a.arg for f in found for a in (f.args.vararg, f.args.kwarg) if a is not None)

    def in_loop(self, file: str, line: int) -> bool:
        """Whether a line can run several times in one call of its function. True when it is not known."""
        tree = self._tree(file)
        if tree is None:
            return True
        loops = [
            n for n in ast.walk(tree) if isinstance(n, ast.For | ast.While | ast.comprehension | ast.AsyncFor)
        ]
        return any(_spans(loop, line) for loop in loops)

    def start_of(self, file: str, line: int) -> int | None:
        """First line, decorators included, of the innermost function that ``line`` is in."""
        around = [f for f in self._functions_of(file) if _start(f) <= line <= (f.end_lineno or f.lineno)]
        return max((_start(f) for f in around), default=None)

    def _functions_of(self, file: str) -> list[Function]:
        known = self._functions.get(file)
        if known is None:
            tree = self._tree(file)
            nodes = ast.walk(tree) if tree else ()
            known = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)]
            self._functions[file] = known
        return known

    def _tree(self, file: str) -> ast.Module | None:
        if file not in self._trees:
            self._trees[file] = _parse(self._sources.get(file))
        return self._trees[file]


def _parse(text: str | None) -> ast.Module | None:
    try:
        return None if text is None else ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _spans(loop: ast.AST, line: int) -> bool:
    first, last = getattr(loop, "lineno", None), getattr(loop, "end_lineno", None)
    return first is not None and last is not None and first <= line <= last


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
