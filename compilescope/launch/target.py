"""What to run: the words after ``compilescope run``, checked before anything is started."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from compilescope.errors import UsageError
from compilescope.launch.folder import working_directory

_LAUNCHERS = {"torchrun", "accelerate", "deepspeed", "vllm"}


@dataclass(frozen=True, slots=True)
class Target:
    """A program as the interpreter takes it: ``python [-m|-c] name args``.

    ``name`` is the script's path as typed (``-`` for a program on standard input), the module, or the code.
    """

    kind: Literal["script", "module", "code"]
    name: str
    args: tuple[str, ...] = ()

    @property
    def python_args(self) -> list[str]:
        option = {"script": [], "module": ["-m"], "code": ["-c"]}[self.kind]
        return [*option, self.name, *self.args]

    @property
    def title(self) -> str:
        """As a person would call it: ``train.py``, ``pkg.train``, ``-c``, ``-``."""
        return "-c" if self.kind == "code" else self.name

    @property
    def stem(self) -> str:
        """For file names; may still hold any character that a path can hold."""
        if self.kind == "script":
            return "stdin" if self.name == "-" else Path(self.name).stem
        return "code" if self.kind == "code" else self.name

    def check(self) -> None:
        """Raises UsageError when plain ``python`` could not even open this, or when it is not Python."""
        if self.kind != "script" or self.name == "-":
            return
        if self.name.startswith("-"):
            raise UsageError(
                f"{self.name} is an option of python, not a script",
                hint="set python's options by PYTHON... variables; write ./NAME for a script named like that",
            )
        path = Path(self.name)
        if path.is_file() and _is_foreign(path):
            raise _not_python(self)
        if not path.exists():
            raise _missing(self)


def _is_foreign(path: Path) -> bool:
    """An executable with another interpreter, or none. An unreadable file is left to python to refuse."""
    try:
        with path.open("rb") as file:
            first = file.readline(256)
    except OSError:
        return False
    if first.startswith(b"#!"):
        return b"python" not in first and path.suffix != ".py"
    return first.startswith(b"\x7fELF")


def _missing(target: Target) -> UsageError:
    name = target.name
    rest = shlex.join(target.args)
    if re.fullmatch(r"python[\d.]*", name):
        return UsageError(
            "give the script itself, without python before it",
            hint=f"did you mean: compilescope run {rest or 'SCRIPT'}",
        )
    if os.sep not in name and not name.endswith(".py") and (name in _LAUNCHERS or _is_command(name)):
        return _not_python(target)
    path = str(working_directory() / name)
    return UsageError(f"can't open file {path!r}: [Errno 2] No such file or directory")


def _is_command(name: str) -> bool:
    """Found where the shell looks, or beside our interpreter: its environment need not be activated."""
    places = [os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)]
    return shutil.which(name, path=os.pathsep.join(places)) is not None


def _not_python(target: Target) -> UsageError:
    words = shlex.join([target.name, *target.args])
    return UsageError(
        f"{target.name} is a program of its own, not a Python script",
        hint=f"not supported yet: compilescope run -- {words}\n"
        "until then give SCRIPT, -m MODULE or -c CODE (torchrun is: -m torch.distributed.run)",
    )
