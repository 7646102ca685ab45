"""Each test looks at a recording made on a GPU: one kept in ``fixtures``, and with ``-m gpu`` a new one.

``COMPILESCOPE_GPU_RECORDINGS`` names a folder that ``record_fixtures.py`` filled: it is used for new ones.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from .recorded import ROOT, Recorded, kept, run

FIXTURES = ROOT / "fixtures" / "inductor-h200"
_made: dict[str, Recorded] = {}


@pytest.fixture(
    params=[
        "kept",
        pytest.param("new", marks=pytest.mark.gpu),
    ]
)
def recordings(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _recorded(program: str, which: str, factory: pytest.TempPathFactory) -> Recorded:
    key = f"{which} {program}"
    if key not in _made:
        _made[key] = _get(program, which, factory)
    return _made[key]


def _get(program: str, which: str, factory: pytest.TempPathFactory) -> Recorded:
    if which == "kept":
        if not (FIXTURES / f"{program}.zip").exists():
            pytest.skip("no recording of it is kept")
        return kept(program, FIXTURES)
    folder = os.environ.get("COMPILESCOPE_GPU_RECORDINGS")
    if folder and (Path(folder) / f"{program}.zip").exists():
        return kept(program, Path(folder))
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    return run(program, factory.mktemp(program))


@pytest.fixture
def mlp(recordings: str, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return _recorded("mlp", recordings, tmp_path_factory)


@pytest.fixture
def layers(recordings: str, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return _recorded("layers", recordings, tmp_path_factory)


@pytest.fixture
def llama(recordings: str, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return _recorded("llama", recordings, tmp_path_factory)


@pytest.fixture
def cudagraphs(recordings: str, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return _recorded("cudagraphs", recordings, tmp_path_factory)
