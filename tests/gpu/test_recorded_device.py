"""What a diff says first: the GPU's name, the driver and CUDA are in the recording."""

from __future__ import annotations

import subprocess
import sys

import pytest

from compilescope.advice import examine
from compilescope.model import load
from compilescope.recording import open_recording

pytestmark = pytest.mark.gpu

PROGRAM = "import torch; torch.compile(lambda x: x + 1, backend='aot_eager')(torch.ones(4, device='cuda'))"


def test_the_gpu_and_its_driver_are_named(tmp_path):
    recording = tmp_path / "run.compilescope"
    words = [sys.executable, "-m", "compilescope", "run", "-q", "-o", str(recording), "-c", PROGRAM]
    subprocess.run(words, check=True, cwd=tmp_path, timeout=300)
    report, _ = examine(load(open_recording(recording)))
    name = subprocess.run(
        [sys.executable, "-c", "import torch; print(torch.cuda.get_device_name())"],
        check=True, capture_output=True, text=True, timeout=300,
    ).stdout.strip()  # fmt: skip
    assert {process.device for process in report.processes} == {name}
    assert report.recording.versions["cuda"]
    assert report.recording.versions["driver"].count(".") >= 1
