"""File names as the user would write them, and whose code a file is."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

_TORCH = re.compile(r"(?:^|/)(?:site|dist)-packages/(torch/.+)$")
_PACKAGES = re.compile(r"(?:^|/)(?:site|dist)-packages/(.+)$")
_STDLIB = re.compile(r"/lib/python3\.\d+t?/(.+)$")
_NAMELESS = {"<module>": "module level", "<lambda>": "a lambda"}
_GENERATED = ("<frozen ", "<eval_with_key>", "<torch_package")


class Paths:
    """``cwd`` is where the user started the program; files below it are shown relative to it."""

    def __init__(self, cwd: str | None) -> None:
        self._cwd = cwd.rstrip("/") + "/" if cwd else None

    def show(self, file: str) -> str:
        torch = _TORCH.search(file)
        if torch:
            return torch.group(1)
        if self._cwd and file.startswith(self._cwd):
            return file[len(self._cwd) :]
        return file

    def is_torch(self, file: str) -> bool:
        return bool(_TORCH.search(file)) or file.startswith(_GENERATED)

    def is_library(self, file: str) -> bool:
        """Torch, an installed package, the standard library, or generated code: not the user's to edit."""
        if file.startswith(_GENERATED) or _PACKAGES.search(file):
            return True
        below = bool(self._cwd and file.startswith(self._cwd))
        return not below and bool(_STDLIB.search(file))

    def at(self, file: str, line: int) -> str:
        return f"{self.show(file)}:{line}"


def called(function: str | None) -> str:
    """A function as a sentence names it: ``forward()``, and words for code without a name of its own."""
    return _NAMELESS.get(function or "", f"{function or 'a function'}()")


def match_suffix(cut: str, known: Iterable[str]) -> str | None:
    """The one known file whose path ends with ``cut``, a path that torch cut on the left."""
    found = {file for file in known if file.endswith(cut)}
    if len(found) > 1:
        whole = {file for file in found if posixpath.basename(file) == posixpath.basename(cut)}
        found = whole or found
    return found.pop() if len(found) == 1 else None
