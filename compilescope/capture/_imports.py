"""Doing something right after a module has been imported, whenever that happens.

torch imports Dynamo only when it is first needed. Nothing is imported on the program's behalf: a finder
waits for the module, lets Python's own finders load it, and takes itself off ``sys.meta_path`` afterwards.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any


def after_import(name: str, action: Callable[[], None]) -> Callable[[], None]:
    """Call ``action`` once ``name`` is imported, now if it already is. What is returned calls it off."""
    module = sys.modules.get(name)
    if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
        action()
        return lambda: None
    waiting = _Waiting(name, action)
    sys.meta_path.insert(0, waiting)
    return waiting.remove


class _Waiting:
    """A meta-path finder for one name. It stays until the module has really been executed.

    A program may only ask whether the module is there, or fail to import it the first time.
    """

    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self._name = name
        self._action = action
        self._asking = threading.local()

    def remove(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name or getattr(self._asking, "now", False):
            return None
        self._asking.now = True
        try:
            spec = find_spec(fullname)
        finally:
            self._asking.now = False
        if spec is not None and spec.loader is not None:
            self._act_after(spec.loader)
        return spec

    def _act_after(self, loader: Any) -> None:
        """Shadow ``exec_module`` on this one loader object. A loader that forbids it is left alone."""
        try:
            exec_module = loader.exec_module
            loader.exec_module = functools.partial(self._execute, loader, exec_module)
        except AttributeError:
            pass

    def _execute(self, loader: Any, exec_module: Callable[[Any], None], module: Any) -> None:
        vars(loader).pop("exec_module", None)
        exec_module(module)
        if self in sys.meta_path:
            self.remove()
            self._action()
