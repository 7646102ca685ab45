"""Each test looks at a recording made on a GPU: one kept in ``fixtures``, and with ``-m gpu`` a new one.

``COMPILESCOPE_GPU_RECORDINGS`` names a folder that ``record_fixtures.py`` filled: it is used for new ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from .recorded import PROGRAMS, ROOT, Recorded, kept, run

FIXTURES = ROOT / "fixtures" / "inductor-h200"
_made: dict[str, Recorded] = {}


@pytest.fixture
def fresh_device() -> Iterator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch.cuda.synchronize()
    torch._dynamo.reset()


@pytest.fixture(
    params=[
        "kept",
        pytest.param("new", marks=pytest.mark.gpu),
    ]
)
def recordings(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def recording(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[Recorded]]]:
    """New recordings of the programs asked for, two at a time: the first takes as long as the rest."""
    wanted = {name for item in request.session.items for name in getattr(item, "fixturenames", ())}
    started: dict[str, Future[Recorded]] = {}
    with ThreadPoolExecutor(2) as pool:
        if torch.cuda.is_available() and "COMPILESCOPE_GPU_RECORDINGS" not in os.environ:
            for program in PROGRAMS:
                if program in wanted and any("new" in item.name for item in request.session.items):
                    started[program] = pool.submit(run, program, tmp_path_factory.mktemp(program))
        yield started


def _recorded(program: str, which: str, request: pytest.FixtureRequest) -> Recorded:
    key = f"{which} {program}"
    if key not in _made:
        _made[key] = _kept(program, FIXTURES) if which == "kept" else _new(program, request)
    return _made[key]


def _new(program: str, request: pytest.FixtureRequest) -> Recorded:
    folder = os.environ.get("COMPILESCOPE_GPU_RECORDINGS")
    if folder:
        return _kept(program, Path(folder))
    started: dict[str, Future[Recorded]] = request.getfixturevalue("recording")
    if program not in started:
        pytest.skip("needs a CUDA device")
    return started[program].result()


def _kept(program: str, folder: Path) -> Recorded:
    if not (folder / f"{program}.zip").exists():
        pytest.skip("no recording of it is kept")
    return kept(program, folder)


@pytest.fixture
def mlp(recordings: str, request: pytest.FixtureRequest) -> Recorded:
    return _recorded("mlp", recordings, request)


@pytest.fixture
def layers(recordings: str, request: pytest.FixtureRequest) -> Recorded:
    return _recorded("layers", recordings, request)


@pytest.fixture
def llama(recordings: str, request: pytest.FixtureRequest) -> Recorded:
    return _recorded("llama", recordings, request)


@pytest.fixture
def cudagraphs(recordings: str, request: pytest.FixtureRequest) -> Recorded:
    return _recorded("cudagraphs", recordings, request)


@pytest.fixture
def two_assemblers(recordings: str, request: pytest.FixtureRequest) -> Recorded:
    return _recorded("two_assemblers", recordings, request)


@pytest.fixture
def one_assembler(recordings: str, request: pytest.FixtureRequest) -> Recorded:
    return _recorded("one_assembler", recordings, request)
