from __future__ import annotations

import sys
from pathlib import Path

import pytest

from compilescope.cli import _ask_torch, doctor
from compilescope.cli._ask_torch import ask_torch

FACTS = {
    "torch": "2.13.0+cpu",
    "triton": "none: ModuleNotFoundError: No module named 'triton'",
    "device": "CPU",
    "compiler": "g++",
    "cache": "/tmp/torchinductor_x/deep",
    "hook trace": "ok",
    "hook guards": "missing: no such function",
}


def screen(facts) -> str:
    return "\n".join(f"{label}: {value}" for label, value in doctor._lines(facts))


def test_one_screen(monkeypatch):
    monkeypatch.setenv("TORCH_LOGS", "secret")
    monkeypatch.setenv("HF_TOKEN", "secret")
    text = screen(FACTS)
    assert "2.13.0+cpu (supported: >=2.11,<2.16)" in text
    assert "hooks: 1 of 2 present\n: guards: missing: no such function" in text
    assert "TORCH_LOGS" in text
    assert "secret" not in text
    assert "HF_TOKEN" not in text
    assert len(text.splitlines()) <= 24


def test_the_assembler_is_a_line_where_torch_is_built_for_cuda():
    two = "CUDA 13.0 in compile workers, 12.8 in the process: autotuning compiles twice"
    assert f"ptxas: {two}" in screen(FACTS | {"ptxas": two})
    assert "ptxas" not in screen(FACTS)
    assert not any(fact == "ptxas" for fact in ask_torch())  # of a build for CPUs


@pytest.mark.parametrize("version", ["2.10.1", "2.16.0a0+git", "3.0", "odd"])
def test_torch_out_of_range(version):
    assert "NOT in the supported range" in screen({"torch": version})


@pytest.mark.parametrize("version", ["2.11.0", "2.15.9+cu130", "2.13.0a0+gitabc"])
def test_torch_in_range(version):
    assert "NOT" not in doctor._torch_line({"torch": version})


def test_no_torch():
    text = screen({"problem": "asking torch ended with status 1: No module named 'torch'"})
    assert "not usable here: recordings can be read" in text
    assert "No module named 'torch'" in text


def test_folder_that_is_not_there_yet(tmp_path):
    assert "writable" in doctor._folder_line(tmp_path / "a" / "b")


@pytest.fixture
def fake_torch(tmp_path, monkeypatch):
    def install(code: str) -> None:
        (tmp_path / "torch.py").write_text(code)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    return install


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("raise ImportError('libcuda.so: cannot open')", "libcuda.so: cannot open"),
        ("import os; os._exit(3)", "status 3: no message"),
        ("import os; os.abort()", "status -6"),
    ],
)
def test_broken_torch_is_a_line(fake_torch, code, problem):
    fake_torch(code)
    assert problem in ask_torch()["problem"]


def test_torch_that_hangs(fake_torch):
    fake_torch("import time; time.sleep(60)")
    assert "longer than" in ask_torch(0.5)["problem"]


def test_facts_found_before_the_end_are_kept(fake_torch):
    """This torch has a version and nothing else, and prints."""
    fake_torch("print('{\"noise\": 1}')\n__version__ = '2.13.0'")
    facts = ask_torch()
    assert facts["torch"] == "2.13.0"
    assert facts["device"].startswith("none: AttributeError")


def test_torch_in_the_working_directory_is_not_asked(tmp_path, monkeypatch):
    (tmp_path / "torch.py").write_text("raise ImportError('the wrong one')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_ask_torch, "_PROBE", Path(__file__).with_name("no_such_probe.py"))
    assert "no_such_probe" in ask_torch()["problem"]
    assert sys.flags.safe_path is False
