"""The stored source texts, parsed on demand: what a line is, and what it stands in.

Text may be missing, newer than the run, cut or not Python at all: every question has the answer None.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping

Function = ast.FunctionDef | ast.AsyncFunctionDef
_LONGEST = 2_000_000  # characters; a generated file larger than this is not worth the parser's memory


class Sources:
    """``texts`` maps file names as the report writes them to their text."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self._texts = texts or {}
        self._trees: dict[str, ast.Module | None] = {}

    def files(self) -> list[str]:
        return sorted(self._texts)

    def text(self, file: str | None) -> str | None:
        return self._texts.get(file) if file is not None else None

    def lines(self, file: str | None) -> list[str]:
        return (self.text(file) or "").splitlines()

    def tree(self, file: str | None) -> ast.Module | None:
        if file is None or file not in self._texts:
            return None
        if file not in self._trees:
            self._trees[file] = _parse(self._texts[file])
        return self._trees[file]

    def function_at(self, file: str | None, line: int | None) -> Function | None:
        """The innermost function around a line, its decorators included."""
        chain = self._around(file, line)
        return next((node for node in reversed(chain) if isinstance(node, Function)), None)

    def class_at(self, file: str | None, line: int | None) -> ast.ClassDef | None:
        chain = self._around(file, line)
        return next((node for node in reversed(chain) if isinstance(node, ast.ClassDef)), None)

    def qualified_name(self, file: str | None, line: int | None, function: str | None) -> str:
        """``Encoder.forward`` where the source tells; else the bare name."""
        names = [node.name for node in self._around(file, line)]
        if function and function in names:
            return ".".join(names[: names.index(function) + 1])
        return function or "?"

    def statement_at(self, file: str | None, line: int | None) -> ast.stmt | None:
        """The smallest statement that covers a line; of a compound one only its head counts."""
        tree = self.tree(file)
        if tree is None or line is None:
            return None
        found = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and _covers(node, line)]
        return max(found, key=lambda node: node.lineno, default=None)

    def _around(
        self, file: str | None, line: int | None
    ) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
        tree = self.tree(file)
        if tree is None or line is None:
            return []
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        found = [node for node in ast.walk(tree) if isinstance(node, kinds) and _spans(node, line)]
        return sorted(found, key=lambda node: node.lineno)


def called_name(node: ast.AST | None) -> str | None:
    """``log.info`` of ``log.info("x")``."""
    if isinstance(node, ast.Call):
        return dotted(node.func)
    return None


def dotted(node: ast.AST | None) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return f"{owner}.{node.attr}" if owner else node.attr
    return None


def calls_in(node: ast.AST | None) -> Iterator[ast.Call]:
    for child in ast.walk(node) if node is not None else ():
        if isinstance(child, ast.Call):
            yield child


def names_in(node: ast.AST | None) -> set[str]:
    """Plain names and dotted attributes read below ``node``: {"self", "self.calls"}."""
    found = set()
    for child in ast.walk(node) if node is not None else ():
        name = dotted(child) if isinstance(child, ast.Name | ast.Attribute) else None
        if name:
            found.add(name)
    return found


def parameters(function: Function | None) -> list[str]:
    if function is None:
        return []
    args = function.args
    return [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]


def _parse(text: str) -> ast.Module | None:
    if len(text) > _LONGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape in somebody's string is not our message
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _spans(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, line: int) -> bool:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return first <= line <= (node.end_lineno or node.lineno)


def _covers(node: ast.stmt, line: int) -> bool:
    body = getattr(node, "body", None)
    last = node.end_lineno or node.lineno
    if isinstance(body, list) and body:
        last = max(node.lineno, body[0].lineno - 1)
    return node.lineno <= line <= last
