"""Acting after an import that may never come, without being in its way."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from compilescope.capture._imports import after_import


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    name = "waited_for"
    (tmp_path / f"{name}.py").write_text("import sys\nseen = list(sys.meta_path)\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = list(sys.meta_path)
    yield name
    sys.modules.pop(name, None)
    assert sys.meta_path == before


def test_acts_once_after_the_module_ran(module: str) -> None:
    acted: list[bool] = []
    after_import(module, lambda: acted.append(hasattr(sys.modules[module], "seen")))
    assert acted == []
    importlib.import_module(module)
    importlib.reload(sys.modules[module])
    assert acted == [True]


def test_acts_at_once_if_the_module_is_there(module: str) -> None:
    importlib.import_module(module)
    acted: list[int] = []
    after_import(module, lambda: acted.append(1))()
    assert acted == [1]


def test_can_be_called_off(module: str) -> None:
    acted: list[int] = []
    call_off = after_import(module, lambda: acted.append(1))
    call_off()
    call_off()
    importlib.import_module(module)
    assert acted == []


def test_looking_for_a_module_is_not_importing_it(module: str) -> None:
    acted: list[int] = []
    after_import(module, lambda: acted.append(1))
    assert importlib.util.find_spec(module) is not None
    assert acted == []
    importlib.import_module(module)
    assert acted == [1]


def test_a_failed_import_can_be_tried_again(module: str, tmp_path: Path) -> None:
    good = (tmp_path / f"{module}.py").read_text()
    (tmp_path / f"{module}.py").write_text("raise ImportError('not yet, please')\n")
    acted: list[int] = []
    after_import(module, lambda: acted.append(1))
    with pytest.raises(ImportError, match="not yet"):
        importlib.import_module(module)
    (tmp_path / f"{module}.py").write_text(good)
    importlib.invalidate_caches()
    importlib.import_module(module)
    assert acted == [1]


def test_a_module_that_is_not_there_fails_as_ever() -> None:
    call_off = after_import("no_such_module_anywhere", lambda: None)
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_module_anywhere'"):
        importlib.import_module("no_such_module_anywhere")
    call_off()


def test_the_module_looks_as_if_nobody_waited(module: str) -> None:
    after_import(module, lambda: None)
    imported = importlib.import_module(module)
    assert imported.__spec__ is not None
    assert "exec_module" not in vars(imported.__spec__.loader)
    assert type(imported.__loader__).__name__ == "SourceFileLoader"
