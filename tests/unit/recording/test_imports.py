"""Who writes pays for no reader, who reads needs no torch, and naming the package costs nothing."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import compilescope.recording


def loaded_by(statement: str) -> set[str]:
    program = f"import sys, json; {statement}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_the_writer_loads_no_reader() -> None:
    loaded = loaded_by("from compilescope.recording import Writer, PhaseFold")
    assert "compilescope.recording.writer" in loaded
    for name in ("reader", "process_folder", "trace_log", "pack"):
        assert f"compilescope.recording.{name}" not in loaded
    assert not {"zipfile", "tempfile", "json", "torch", "pandas"} & (loaded - loaded_by("import zstandard"))


def test_the_reader_loads_no_torch() -> None:
    loaded = loaded_by("from compilescope.recording import open_recording, pack_recording")
    assert not {"torch", "numpy", "pandas"} & loaded


def test_the_package_itself_loads_nothing() -> None:
    loaded = loaded_by("import compilescope.recording")
    assert not {"msgspec", "zstandard"} & loaded


def test_every_public_name_exists() -> None:
    for name in compilescope.recording.__all__:
        assert getattr(compilescope.recording, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = compilescope.recording.nothing  # type: ignore[attr-defined]
