from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from compilescope.capture import _head

OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\nGCC version: 12\n"
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n"


def test_a_gpu_is_named_once_the_program_has_started_it(monkeypatch):
    def gpu(started: bool) -> SimpleNamespace:
        cuda = SimpleNamespace(is_initialized=lambda: started, get_device_name=lambda: "NVIDIA H200")
        return SimpleNamespace(cuda=cuda)

    monkeypatch.setitem(sys.modules, "torch", gpu(started=True))
    assert _head.started_device() == {"device": "NVIDIA H200"}
    monkeypatch.setitem(sys.modules, "torch", gpu(started=False))
    assert _head.started_device() == {}
    monkeypatch.delitem(sys.modules, "torch")
    assert _head.started_device() == {}


def torch(cuda: str | None, hip: str | None = None) -> SimpleNamespace:
    return SimpleNamespace(version=SimpleNamespace(cuda=cuda, hip=hip))


@pytest.mark.parametrize(("text", "driver"), [(OPEN, "580.65.06"), (CLOSED, "550.54.15"), ("?", None)])
def test_the_driver_is_read_without_starting_it(tmp_path, monkeypatch, text, driver):
    monkeypatch.setattr(_head, "_DRIVER", tmp_path / "version")
    (tmp_path / "version").write_text(text)
    expected = {"cuda": "13.0"} | ({"driver": driver} if driver else {})
    assert _head._gpu_versions(torch("13.0")) == expected


def test_no_driver_and_no_gpu_build(tmp_path, monkeypatch):
    monkeypatch.setattr(_head, "_DRIVER", tmp_path / "absent")
    assert _head._gpu_versions(torch("13.0")) == {"cuda": "13.0"}
    assert _head._gpu_versions(torch(None)) == {}
    assert _head._gpu_versions(torch(None, "6.4")) == {"rocm": "6.4"}
