"""The child side: waits in the user's process until torch is imported, then attaches capture.

Loaded by path and kept out of ``sys.modules``, with imports that every interpreter has loaded already: until
torch arrives the program sees one thing that plain ``python`` does not have, an entry in ``sys.meta_path``.
"""

import os
import sys
from _frozen_importlib_external import SourceFileLoader

# Annotations are text one by one: importing __future__ would be seen in sys.modules.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

RECORDING = "COMPILESCOPE_RECORDING"
ROOT_PID = "COMPILESCOPE_ROOT_PID"
# Files that Inductor starts to build kernels in parallel: they import torch, but no user code runs there.
_WORKER_FILES = ("compile_worker/__main__.py", "__autotune_main__.py")
_WORKER_MODULES = ("torch._inductor.compile_worker", "torch._inductor.__autotune_main__")


def start() -> None:
    """Called by the bootstrap while ``site`` runs: no user path is on ``sys.path`` yet."""
    recording = os.environ[RECORDING]
    os.environ.setdefault(ROOT_PID, str(os.getpid()))
    if _is_inductor_worker(sys.orig_argv):
        # Pools below a worker are workers too, but their command lines no longer say so.
        del os.environ[RECORDING]
        return
    torch_import = TorchImport(recording, _installed_first(sys.path))
    if "torch" in sys.modules:  # a .pth file was quicker
        torch_import.attach()
    else:
        sys.meta_path.insert(0, torch_import)


def _is_inductor_worker(argv: "Sequence[str]") -> bool:
    return any(
        word in _WORKER_MODULES or ("_inductor" in word and word.endswith(_WORKER_FILES)) for word in argv[1:]
    )


def _installed_first(path: "Sequence[str]") -> list[str]:
    """The user's PYTHONPATH may hold a file named like one of our libraries: ask it last."""
    theirs = set(os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return sorted(path, key=lambda entry: entry in theirs)


class TorchImport:
    """A meta-path finder that only notices torch; once torch is there it leaves ``sys.meta_path``."""

    def __init__(self, recording: str, search_path: list[str]) -> None:
        self._recording = recording
        self._search_path = search_path

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        if name != "torch":
            return None
        for finder in list(sys.meta_path):
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                self._watch(spec.loader)
                return spec
        return None

    def _watch(self, loader: "Any") -> None:
        """Shadow ``exec_module`` on this one loader object, until it is called once."""
        execute = loader.exec_module

        def exec_module(module: "ModuleType") -> None:
            del loader.exec_module
            execute(module)
            self.attach()

        # The interpreter cuts importlib's frames out of the traceback of a failing import by their file name.
        # Ours takes that name, so that a broken torch gives the traceback it gives under plain python.
        exec_module.__code__ = exec_module.__code__.replace(
            co_filename="<frozen importlib._bootstrap_external>"
        )
        try:
            loader.exec_module = exec_module
        except AttributeError as problem:
            _give_up(problem)

    def attach(self) -> None:
        """Torch is imported: let capture in. Never raises."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        try:
            _load("_isolation").attach_capture(self._recording, self._search_path)
        except Exception as problem:
            _give_up(problem)


def _load(name: str) -> "Any":
    """A neighboring file as a module that nobody else can see."""
    folder = __file__.rpartition(os.sep)[0]
    loader = SourceFileLoader(f"compilescope.launch.{name}", f"{folder}/{name}.py")
    module = type(sys)(loader.name)
    module.__file__ = loader.path
    loader.exec_module(module)
    return module


def _give_up(problem: Exception) -> None:
    """Say it once for this process and all that it will start."""
    os.environ.pop(RECORDING, None)
    first_line = f"{type(problem).__name__}: {problem}".splitlines()[0]
    first_line = "".join(c if c.isprintable() else "?" for c in first_line)
    try:
        sys.stderr.write(f"compilescope: this process is not recorded: {first_line}\n")
        sys.stderr.flush()
    except Exception:
        pass  # closed or replaced by the program: there is nowhere left to say it
