"""Two ranks over gloo: collectives in a compiled graph, with their bytes, lines and what they keep apart."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from compilescope.model.inductor import CompiledGraph, read_graph
from compilescope.model.inductor import kinds as k
from compilescope.recording import open_recording

from .conftest import collected

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
PROGRAM = HERE / "programs" / "collectives.py"


def _line(code: str) -> int:
    lines = PROGRAM.read_text(encoding="utf-8").splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.strip() == code)


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[list[CompiledGraph]]:
    """The graphs of each rank."""
    folder = tmp_path_factory.mktemp("ranks")
    started = []
    for rank in ("0", "1"):
        env = {
            **os.environ,
            "RANK": rank,
            "WORLD_SIZE": "2",
            "TORCHINDUCTOR_CACHE_DIR": str(folder / f"cache{rank}"),
            "PYTHONPATH": str(HERE.parents[2]),
        }
        command = [sys.executable, str(HERE / "record.py"), str(folder / rank), str(PROGRAM)]
        started.append(
            subprocess.Popen([*command, str(folder / "store")], env=env, stdout=subprocess.PIPE, text=True)
        )
    printed = [process.communicate(timeout=400)[0].split() for process in started]
    assert printed == [["5000.0", "3000.0"]] * 2
    found = []
    for rank in ("0", "1"):
        (process,) = open_recording(folder / rank).processes
        found.append([read_graph(source, process.file) for source in collected(process).graphs])
    return found


def test_each_rank_has_both_collectives(ranks: list[list[CompiledGraph]]) -> None:
    for reduced, gathered in ranks:
        (all_reduce,), (all_gather,) = reduced.crossings, gathered.crossings
        assert all_reduce.kind == all_gather.kind == k.COLLECTIVE
        assert "all_reduce" in all_reduce.detail
        assert "all_gather" in all_gather.detail
        assert all_reduce.size_bytes is not None
        assert all_gather.size_bytes is not None
        assert (all_reduce.size_bytes.value, all_gather.size_bytes.value) == (1000 * 4, 250 * 4)


def test_the_line_is_the_users_not_torchs(ranks: list[list[CompiledGraph]]) -> None:
    for reduced, gathered in ranks:
        assert [line.line for line in reduced.crossings[0].lines] == [
            _line('y = functional.all_reduce(y, "sum", dist.group.WORLD)')
        ]
        assert [line.line for line in gathered.crossings[0].lines] == [
            _line("y = functional.all_gather_tensor(x + 1, 0, dist.group.WORLD)")
        ]


def test_nothing_fuses_across_a_collective(ranks: list[list[CompiledGraph]]) -> None:
    for graph in ranks[0]:
        (crossing,) = graph.crossings
        before, after = (
            next(kernel for kernel in graph.kernels if kernel.name == name)
            for name in (crossing.before, crossing.after)
        )
        assert before is not after
        assert (before.kind, after.kind) == (k.CPP_LOOP, k.CPP_LOOP)
        assert [kernel.kind for kernel in graph.kernels].count(k.COLLECTIVE_WAIT) == 1
