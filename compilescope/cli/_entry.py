"""Runs the command group and turns whatever goes wrong into one message and an exit status."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from compilescope.errors import CompileScopeError
from compilescope.launch.folder import working_directory

PROGRAM = "compilescope"
INTERRUPTED = 130
BROKEN_PIPE = 141  # as a shell shows a program that SIGPIPE ended


def run_command_line() -> NoReturn:
    _installed_first()
    sys.exit(_status())


def _installed_first() -> None:
    """``python -m`` and PYTHONPATH put user folders in front: a ``click.py`` in one must not be ours."""
    user = {"", str(working_directory()), *os.environ.get("PYTHONPATH", "").split(os.pathsep)}
    sys.path.sort(key=lambda entry: entry in user)


def _status() -> int:
    import click

    from compilescope.cli._group import group
    from compilescope.cli._terminal import ReaderGoneError

    try:
        result = group.main(prog_name=PROGRAM, standalone_mode=False)
    except CompileScopeError as error:
        return complain(error.message, error.hint, error.exit_status)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        hint = f"{context.command_path} --help" if context is not None else None
        return complain(error.format_message(), hint, error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except ReaderGoneError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes it once more
        return BROKEN_PIPE
    except Exception as error:
        return _own_fault(error)
    return result if isinstance(result, int) else 0


def _own_fault(error: Exception) -> int:
    if os.environ.get("COMPILESCOPE_TRACEBACK"):
        raise error
    return complain(
        f"internal error: {type(error).__name__}: {error}",
        "please report it with the output of: compilescope doctor  (COMPILESCOPE_TRACEBACK=1 shows where)",
        CompileScopeError.exit_status,
    )


def complain(message: str, hint: str | None, status: int) -> int:
    from compilescope.cli._terminal import say

    say(f"error: {message}" + "".join(f"\n  {line}" for line in (hint or "").splitlines()))
    return status
