"""``%load_ext compilescope`` and ``%%compilescope``: a cell, recorded."""

from __future__ import annotations

import argparse
import ast
import inspect
import shlex
from functools import partial
from typing import Any, NoReturn

from IPython.core.error import UsageError
from IPython.display import display

from compilescope.errors import CompileScopeError
from compilescope.notebook._profile import profile
from compilescope.notebook._shell import cell_numbers


class _Options(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().strip()}")


def _options() -> _Options:
    options = _Options(prog="%%compilescope", add_help=False)
    options.add_argument("-o", "--output", metavar="REC", help="name of the recording, a folder")
    options.add_argument("-f", "--force", action="store_true", help="replace an existing recording")
    options.add_argument("--show", action="store_true", help="show the full report, not only its summary")
    options.add_argument("-n", "--name", help="variable that gets the profile")
    return options


def register(shell: Any) -> None:
    magic = partial(_recorded_cell, shell)
    magic.__doc__ = _options().format_help()
    shell.register_magic_function(magic, "cell", "compilescope")


def _recorded_cell(shell: Any, line: str, cell: str) -> None:
    """Runs the cell and shows what torch.compile did in it; an exception of the cell shows as always."""
    __tracebackhide__ = True
    options = _options().parse_args(shlex.split(line))
    try:
        recorded = profile(options.output, force=options.force).__enter__()
    except CompileScopeError as problem:
        raise UsageError(str(problem)) from None
    try:
        _run(shell, cell)
    except BaseException as error:
        recorded.__exit__(type(error), error, error.__traceback__)
        _tell(shell, recorded, options)
        raise
    recorded.__exit__(None, None, None)
    _tell(shell, recorded, options)


def _tell(shell: Any, recorded: profile, options: argparse.Namespace) -> None:
    if options.name:
        shell.user_ns[options.name] = recorded
    if options.show:
        recorded.show()
    else:
        display(recorded)


def _run(shell: Any, cell: str) -> None:
    """As the shell runs a cell: the last expression is shown, code has a name that linecache knows."""
    __tracebackhide__ = True
    source = shell.transform_cell(cell)
    name = shell.compile.cache(source, _cell_number(shell), raw_code=cell)
    tree = shell.transform_ast(shell.compile.ast_parse(source, filename=name))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    _execute(shell, tree, name, "exec")
    if last is not None:
        shell.displayhook(_execute(shell, ast.Expression(last.value), name, "eval"))


def _cell_number(shell: Any) -> int:
    """Of the cell that is running: the shell counts on before it runs one."""
    numbers = cell_numbers(shell)
    return max(numbers.values(), default=shell.execution_count)


def _execute(shell: Any, tree: ast.AST, name: str, mode: str) -> Any:
    __tracebackhide__ = True
    code = compile(tree, name, mode, shell.compile.flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)  # type: ignore[call-overload]
    if code.co_flags & inspect.CO_COROUTINE:
        raise UsageError("a cell that awaits cannot be recorded: use `with compilescope.profile() as p:`")
    return eval(code, shell.user_global_ns, shell.user_ns)
