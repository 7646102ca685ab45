"""Imports capture and its libraries inside the user's process without either side shadowing the other.

The user may have a file ``msgspec.py`` beside the script, or call the script's package ``compilescope``. We
load ours from where they are installed, whatever ``sys.path`` says by now. Under a name that the user's own
path gives to something else, ``sys.modules`` keeps only what the user would have found.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_PACKAGE = Path(__file__).parents[1]
_LIBRARIES = ("msgspec", "zstandard")
_NAMES = ("compilescope", *_LIBRARIES)
# A change to try, as JSON: compilescope.trial sets it, and its part in this process applies it.
APPLY = "COMPILESCOPE_APPLY"
# A graph to time, as JSON: the program is run for nothing else.
MEASURE = "COMPILESCOPE_MEASURE"


def attach_capture(recording: str, search_path: Sequence[str]) -> None:
    """Import ``compilescope.capture`` and let it attach. Raises whatever the import raises."""
    finder = OwnPackages(search_path)
    hidden = _hide(finder)
    sys.meta_path.insert(0, finder)
    try:
        import_module("compilescope.capture").attach(Path(recording))
        if os.environ.get(APPLY):
            _apply(os.environ[APPLY])
        if os.environ.get(MEASURE):
            import_module("compilescope.bucketing.measure_job").install(os.environ[MEASURE])
    finally:
        sys.meta_path.remove(finder)
        _give_back(finder, hidden)


def _apply(change: str) -> None:
    after_import = import_module("compilescope.capture._imports").after_import
    import_module("compilescope.trial._apply").apply(change, after_import)


class OwnPackages:
    """A meta-path finder for our package and the libraries it needs in this process, and nothing else."""

    def __init__(self, search_path: Sequence[str]) -> None:
        self._search_path = list(search_path)

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "compilescope":
            return spec_from_file_location(
                name, _PACKAGE / "__init__.py", submodule_search_locations=[str(_PACKAGE)]
            )
        return PathFinder.find_spec(name, self._search_path) if name in _LIBRARIES else None


def _hide(finder: OwnPackages) -> dict[str, ModuleType]:
    """Take the user's modules of our names out of ``sys.modules``; returns them."""
    hidden = {}
    for top in _NAMES:
        module = sys.modules.get(top)
        if module is not None and not _same_file(finder.find_spec(top), getattr(module, "__spec__", None)):
            for name in [n for n in sys.modules if n == top or n.startswith(f"{top}.")]:
                hidden[name] = sys.modules.pop(name)
    return hidden


def _give_back(finder: OwnPackages, hidden: dict[str, ModuleType]) -> None:
    for top in _NAMES:
        theirs = PathFinder.find_spec(top)
        if top in sys.modules and theirs is not None and not _same_file(finder.find_spec(top), theirs):
            # Only the top name goes: our submodules find each other by their full names, and theirs come
            # from the __path__ of the package the user gets.
            del sys.modules[top]
    sys.modules.update(hidden)


def _same_file(one: ModuleSpec | None, other: ModuleSpec | None) -> bool:
    if one is None or other is None or one.origin is None or other.origin is None:
        return False
    return os.path.realpath(one.origin) == os.path.realpath(other.origin)
