from __future__ import annotations

import os
from pathlib import Path

import pytest

from compilescope.errors import CompileScopeError
from compilescope.launch import environment
from compilescope.launch.environment import BOOTSTRAP, fresh_caches, recorded, telling_names

REC = Path("/data/REC")


@pytest.mark.parametrize(
    ("inherited", "expected"),
    [
        ({}, [str(BOOTSTRAP)]),
        ({"PYTHONPATH": ""}, [str(BOOTSTRAP)]),
        ({"PYTHONPATH": "a:b"}, [str(BOOTSTRAP), "a", "b"]),
        ({"PYTHONPATH": ":a"}, [str(BOOTSTRAP), "", "a"]),
        ({"PYTHONPATH": f"a:{BOOTSTRAP}"}, [str(BOOTSTRAP), "a"]),
    ],
)
def test_bootstrap_is_put_first_and_once(inherited, expected):
    assert recorded(inherited, REC)["PYTHONPATH"].split(os.pathsep) == expected


def test_everything_else_is_handed_through():
    child = recorded({"HOME": "/h", "COMPILESCOPE_ROOT_PID": "1", "COMPILESCOPE_RECORDING": "/other"}, REC)
    assert child == {"HOME": "/h", "COMPILESCOPE_RECORDING": "/data/REC", "PYTHONPATH": str(BOOTSTRAP)}


def test_bootstrap_holds_nothing_that_user_code_could_import_by_accident():
    assert [p.name for p in BOOTSTRAP.iterdir() if p.suffix] == ["sitecustomize.py"]


def test_installed_where_pythonpath_cannot_reach(monkeypatch):
    monkeypatch.setattr(environment, "BOOTSTRAP", Path("/opt/a:b/_bootstrap"))
    with pytest.raises(CompileScopeError, match="a:b"):
        recorded({}, REC)


def test_fresh_caches_are_two_folders():
    caches = fresh_caches(Path("/tmp/x"))
    assert set(caches) == {"TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"}
    assert len(set(caches.values())) == 2


def test_telling_names_are_about_torch_and_python_only():
    environ = [
        "HF_TOKEN",
        "TORCH_LOGS",
        "PYTORCH_ALLOC_CONF",
        "RANK",
        "WORLD_SIZE",
        "HOME",
        "AWS_SECRET",
        "NCCL_X",
    ]
    assert telling_names(environ) == ["NCCL_X", "PYTORCH_ALLOC_CONF", "RANK", "TORCH_LOGS", "WORLD_SIZE"]
