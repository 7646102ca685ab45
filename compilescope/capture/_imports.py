"""Doing something right after a module has been imported, whenever that happens.

torch imports Dynamo only when it is first needed. Nothing is imported on the program's behalf: a finder
waits for the module, lets Python's own finders load it, and takes itself off ``sys.meta_path`` afterwards.
"""

from __future__ import annotations

import sys
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
    """A meta-path finder for one name."""

    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self._name = name
        self._action = action

    def remove(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        self.remove()
        spec = find_spec(fullname)
        loader = None if spec is None else spec.loader
        if loader is None:
            return spec
        self._act_after(loader)
        return spec

    def _act_after(self, loader: Any) -> None:
        """Shadow ``exec_module`` on this one loader object, until it has been called once."""
        exec_module, action = loader.exec_module, self._action

        def exec_then_act(module: Any) -> None:
            del loader.exec_module
            exec_module(module)
            action()

        loader.exec_module = exec_then_act
