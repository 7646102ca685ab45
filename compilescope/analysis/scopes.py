"""What the stored source says about functions: their parameters, and which one a line belongs to.

A guard on ``L['k']`` looks the same for an argument and a free variable; two methods called ``forward`` look
the same in a traceback.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping

from compilescope.model import Location

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_LEAVES = (ast.Return, ast.Raise)
_LOOPS = ast.For | ast.AsyncFor | ast.While | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class _File:
    """The functions and loops of one file, by line."""

    def __init__(self, tree: ast.Module | None) -> None:
        self.is_known = tree is not None
        self.by_start: dict[int, list[Function]] = defaultdict(list)
        self.loops: list[tuple[int, int]] = []
        self._innermost: dict[int, int] = {}
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, Function):
                self.by_start[_start(node)].append(node)
            elif isinstance(node, _LOOPS):
                self.loops.append((node.lineno, node.end_lineno or node.lineno))

    def start_of(self, line: int) -> int | None:
        if not self._innermost:
            for start in sorted(self.by_start):
                end = max(f.end_lineno or f.lineno for f in self.by_start[start])
                self._innermost.update(dict.fromkeys(range(start, end + 1), start))
        return self._innermost.get(line)


class Scopes:
    """``sources`` maps paths to the text of the files as they were when the program ran."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources
        self._files: dict[str, _File] = {}

    def parameters(self, code: Location) -> frozenset[str] | None:
        """Names of a function's parameters, None when it is not in the stored sources."""
        names = [_names(f) for f in self._functions(code)]
        return frozenset().union(*names) if names else None

    def starts_of(self, file: str, name: str) -> list[int]:
        """First lines, decorators included, of the functions of that name."""
        starts = self._file(file).by_start.items()
        return [at for at, functions in starts if any(_is_called(f, name) for f in functions)]

    def positional(self, code: Location) -> tuple[str, ...]:
        """Names of the positional parameters in order; empty where the function's source is not stored."""
        for function in self._functions(code):
            return tuple(a.arg for a in (*function.args.posonlyargs, *function.args.args))
        return ()

    def variadic(self, code: Location) -> frozenset[str]:
        """Names of ``*args`` and ``**kwargs``: an item of them is an argument."""
        arguments = (a for f in self._functions(code) for a in (f.args.vararg, f.args.kwarg))
        return frozenset(a.arg for a in arguments if a is not None)

    def in_loop(self, file: str, line: int) -> bool:
        """Whether a line can run several times in one call of its function. True when it is not known."""
        known = self._file(file)
        return not known.is_known or any(first <= line <= last for first, last in known.loops)

    def always_reached(self, file: str, line: int) -> bool:
        """Whether each call of the innermost function around a line runs it once, unless something raises."""
        start = self.start_of(file, line)
        functions = self._file(file).by_start.get(start, ()) if start is not None else ()
        return bool(functions) and not any(_is_avoidable(f, line) for f in functions)

    def calls_itself(self, file: str, line: int) -> bool:
        """Whether the innermost function around a line has a call of its own name."""
        start = self.start_of(file, line)
        functions = self._file(file).by_start.get(start, ()) if start is not None else ()
        return any(_calls(f, f.name) for f in functions if not isinstance(f, ast.Lambda))

    def start_of(self, file: str, line: int) -> int | None:
        """First line, decorators included, of the innermost function that ``line`` is in."""
        return self._file(file).start_of(line)

    def _functions(self, code: Location) -> list[Function]:
        return [f for f in self._file(code.file).by_start.get(code.line, ()) if _is_called(f, code.function)]

    def _file(self, file: str) -> _File:
        known = self._files.get(file)
        if known is None:
            known = self._files[file] = _File(_parse(self._sources.get(file)))
        return known


def _parse(text: str | None) -> ast.Module | None:
    try:
        return None if text is None else ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _start(function: Function) -> int:
    """Python counts a function from its first decorator."""
    decorators = [] if isinstance(function, ast.Lambda) else function.decorator_list
    return min([function.lineno, *(d.lineno for d in decorators)])


def _calls(function: ast.AST, name: str) -> bool:
    called = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(isinstance(target, ast.Name) and target.id == name for target in called)


def _is_avoidable(function: Function, line: int) -> bool:
    """Whether the line is in a branch or loop of the function, or behind one that may leave it."""
    for node in ast.walk(function):
        span = _optional_lines(node)
        if span is None or line < span[0]:
            continue
        if line <= span[1] or any(isinstance(n, _LEAVES) for n in ast.walk(node)):
            return True
    return False


def _optional_lines(node: ast.AST) -> tuple[int, int] | None:
    """First and last line of what a statement or expression does not run exactly once."""
    match node:
        case ast.If() | ast.For() | ast.AsyncFor():
            first = node.body[0].lineno  # the condition, and what is looped over, are computed once
        case ast.Try() | ast.TryStar():
            first = (node.body[-1].end_lineno or node.body[-1].lineno) + 1
        case ast.Match():
            first = node.cases[0].body[0].lineno
        case ast.While() | ast.IfExp() | ast.BoolOp():
            first = node.lineno
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            first = node.lineno
        case _:
            return None
    return first, node.end_lineno or first


def _is_called(function: Function, name: str) -> bool:
    return name == "<lambda>" if isinstance(function, ast.Lambda) else function.name == name


def _names(function: Function) -> frozenset[str]:
    a = function.args
    found = [*a.posonlyargs, *a.args, *a.kwonlyargs, *(x for x in (a.vararg, a.kwarg) if x is not None)]
    return frozenset(argument.arg for argument in found)
