"""The stored source texts, parsed on demand: what a line is, and what it stands in.

Text may be missing, newer than the run, cut or not Python at all: every question has the answer None.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping, Sequence

Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_Block = ast.Try | ast.TryStar | ast.With | ast.AsyncWith | ast.For | ast.AsyncFor | ast.While
_LONGEST = 2_000_000  # characters; a generated file larger than this is not worth the parser's memory


class Sources:
    """``texts`` maps file names as the report writes them to their text."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self._texts = texts or {}
        self._parsed: dict[str, _Parsed] = {}

    def files(self) -> list[str]:
        return sorted(self._texts)

    def text(self, file: str | None) -> str | None:
        return self._texts.get(file) if file is not None else None

    def lines(self, file: str | None) -> Sequence[str]:
        return self._of(file).lines

    def line(self, file: str | None, number: int | None) -> str | None:
        lines = self.lines(file)
        return lines[number - 1] if number is not None and 0 < number <= len(lines) else None

    def tree(self, file: str | None) -> ast.Module | None:
        return self._of(file).tree

    def calls(self) -> Iterator[tuple[str, ast.Call]]:
        """Every call of every file."""
        return ((file, call) for file in self.files() for call in self._of(file).calls)

    def functions(self) -> Iterator[tuple[str, Function]]:
        """Every function of every file."""
        pairs = ((file, scope) for file in self.files() for scope in self._of(file).scopes)
        return ((file, scope) for file, scope in pairs if isinstance(scope, Function))

    def stores(self) -> Iterator[tuple[str, ast.Attribute]]:
        """Every place that sets an attribute."""
        return ((file, node) for file in self.files() for node in self._of(file).stores)

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
        found = [node for node in self._of(file).statements if line is not None and _covers(node, line)]
        return max(found, key=lambda node: node.lineno, default=None)

    def blocks_around(self, file: str | None, line: int) -> list[ast.stmt]:
        """Compound statements of the innermost function that hold a line in their body, outermost first."""
        function = self.function_at(file, line)
        nodes = [n for n in ast.walk(function) if isinstance(n, _Block)] if function is not None else []
        return sorted((n for n in nodes if n.lineno < line <= (n.end_lineno or 0)), key=lambda n: n.lineno)

    def statements_on(self, file: str | None, line: int) -> int:
        """How many statements begin on a line: ``x = 1; print(x)`` is two."""
        return sum(node.lineno == line for node in self._of(file).statements)

    def _around(self, file: str | None, line: int | None) -> list[Scope]:
        return [node for node in self._of(file).scopes if line is not None and _spans(node, line)]

    def _of(self, file: str | None) -> _Parsed:
        if file is None or file not in self._texts:
            return _Parsed(None, ())
        if file not in self._parsed:
            text = self._texts[file]
            self._parsed[file] = _Parsed(_parse(text), tuple(text.splitlines()))
        return self._parsed[file]


class _Parsed:
    """One file, walked once: a report asks about hundreds of its lines."""

    def __init__(self, tree: ast.Module | None, lines: Sequence[str]) -> None:
        self.tree, self.lines = tree, lines
        nodes = list(ast.walk(tree)) if tree is not None else []
        self.statements = [node for node in nodes if isinstance(node, ast.stmt)]
        self.scopes = sorted((n for n in nodes if isinstance(n, Scope)), key=lambda n: n.lineno)
        self.calls = [node for node in nodes if isinstance(node, ast.Call)]
        self.stores = [n for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]


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


def compiled_names(tree: ast.Module | None) -> set[str]:
    """Variables that hold what torch.compile returned."""
    found: set[str] = set()
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Assign) and called_name(node.value) in ("torch.compile", "compile"):
            found |= {name for target in node.targets if (name := dotted(target))}
    return found


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


def _spans(node: Scope, line: int) -> bool:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return first <= line <= (node.end_lineno or node.lineno)


def _covers(node: ast.stmt, line: int) -> bool:
    body = getattr(node, "body", None)
    last = node.end_lineno or node.lineno
    if isinstance(body, list) and body:
        last = max(node.lineno, body[0].lineno - 1)
    return node.lineno <= line <= last
