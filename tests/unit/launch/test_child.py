"""The child side, loaded as the bootstrap loads it."""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from compilescope.launch import _child, _isolation


@pytest.mark.parametrize(
    ("argv", "worker"),
    [
        (["python", "/x/torch/_inductor/compile_worker/__main__.py", "--kind=fork"], True),
        (["python", "/x/torch/_inductor/__autotune_main__.py"], True),
        (["python", "-m", "torch._inductor.compile_worker"], True),
        (["python", "train.py"], False),
        (["python", "compile_worker/__main__.py"], False),
        (["python", "train.py", "--from=torch._inductor.compile_worker.py"], False),
        ([], False),
    ],
)
def test_workers_of_inductor(argv, worker):
    assert _child._is_inductor_worker(argv) is worker


def test_user_folders_are_searched_last(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/mine:/bootstrap")
    assert _child._installed_first(["/mine", "/stdlib", "/site"]) == ["/stdlib", "/site", "/mine"]


class Loader:
    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        if self.error:
            raise self.error
        module.ready = True


class Finder:
    def __init__(self, loader) -> None:
        self.loader = loader

    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self.loader) if name == "torch" else None


@pytest.fixture
def finder(monkeypatch):
    """Ours in front of one that finds torch; attaching is only noted."""
    attached = []
    ours = _child.TorchImport("/REC", ["/site"])
    stub = ModuleType("stub")
    stub.attach_capture = lambda recording, path: attached.append((recording, path))
    monkeypatch.setattr(_child, "_load", lambda name: stub)
    ours.attached = attached
    return ours


def load(finder, loader, monkeypatch):
    monkeypatch.setattr(sys, "meta_path", [finder, Finder(loader)])
    spec = finder.find_spec("torch")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_attaches_after_torch_and_leaves(finder, monkeypatch):
    loader = Loader()
    module = load(finder, loader, monkeypatch)
    assert module.ready
    assert finder.attached == [("/REC", ["/site"])]
    assert finder not in sys.meta_path
    assert vars(loader) == {"error": None}


@pytest.mark.parametrize("loaded", [True, False])
def test_torch_that_a_pth_file_imported_already(finder, monkeypatch, loaded):
    monkeypatch.setattr(_child, "TorchImport", lambda *_: finder)
    monkeypatch.setattr(sys, "meta_path", [])
    monkeypatch.setenv("COMPILESCOPE_RECORDING", "/REC")
    monkeypatch.setenv(_child.ROOT_PID, "41")  # set by start() otherwise, for every later test of this worker
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    if loaded:
        monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    _child.start()
    assert bool(finder.attached) is loaded
    assert (finder in sys.meta_path) is not loaded
    assert os.environ[_child.ROOT_PID] == "41"


def test_failing_torch_keeps_the_finder(finder, monkeypatch):
    loader = Loader(ImportError("broken"))
    with pytest.raises(ImportError, match="broken"):
        load(finder, loader, monkeypatch)
    assert finder.attached == []
    assert finder in sys.meta_path
    assert "exec_module" not in vars(loader)


def test_other_names_are_not_looked_at(finder):
    for name in ("torch.nn", "torchvision", "numpy"):
        assert finder.find_spec(name) is None


def test_loader_that_cannot_be_watched_costs_one_line(finder, monkeypatch, capsys):
    class Closed(Loader):
        __slots__ = ()

        def __setattr__(self, name, value):
            if name == "exec_module":
                raise AttributeError(name)
            super().__setattr__(name, value)

    monkeypatch.setenv("COMPILESCOPE_RECORDING", "/REC")
    assert load(finder, Closed(), monkeypatch).ready
    assert (
        capsys.readouterr().err == "compilescope: this process is not recorded: AttributeError: exec_module\n"
    )
    assert "COMPILESCOPE_RECORDING" not in os.environ


def test_failing_capture_never_reaches_the_program(finder, monkeypatch, capsys):
    def fail(*_):
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr(_child._load("x"), "attach_capture", fail)
    monkeypatch.setenv("COMPILESCOPE_RECORDING", "/REC")
    assert load(finder, Loader(), monkeypatch).ready
    assert capsys.readouterr().err == "compilescope: this process is not recorded: RuntimeError: first line\n"


def test_nowhere_to_complain(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    _child._give_up(ValueError("x"))


def test_own_packages_come_from_where_they_are_installed(tmp_path):
    (tmp_path / "msgspec.py").write_text("")
    finder = _isolation.OwnPackages([str(tmp_path)])
    assert finder.find_spec("msgspec").origin == str(tmp_path / "msgspec.py")
    assert Path(finder.find_spec("compilescope").origin).parent == Path(_isolation.__file__).parents[1]
    assert finder.find_spec("numpy") is None
