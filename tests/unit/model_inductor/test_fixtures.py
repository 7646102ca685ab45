"""Every recording that is kept: the generated code and Inductor's own structures tell the same kernels."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from compilescope.model.inductor import KINDS, Collector, Fact, compare
from compilescope.recording import open_recording

FIXTURES = Path(__file__).parents[3] / "fixtures"


def agreements(path: Path) -> tuple[int, int]:
    """(kernels that agree, kernels compared)."""
    agreeing = compared = 0
    for process in open_recording(path).processes:
        collector = Collector()
        for r in process.records():
            if r.k in KINDS:
                text = functools.partial(process.text, r.p)
                collector.add(Fact(r.k, r.c, r.m, text, r.ca, r.x.get("rows", ())))
        found = [compare(source, process.file) for source in collector.finish().graphs]
        agreeing += sum(a.agreeing for a in found if a is not None)
        compared += sum(a.kernels for a in found if a is not None)
    return agreeing, compared


@pytest.mark.parametrize(
    "path", sorted(FIXTURES.rglob("*.zip")), ids=lambda path: str(path.relative_to(FIXTURES))
)
def test_98_of_100_kernels_agree(path: Path) -> None:
    agreeing, compared = agreements(path)
    assert agreeing >= 0.98 * compared


def test_enough_is_compared() -> None:
    folders = ("inductor-h200", "corpus/compiled")
    paths = [path for folder in folders for path in (FIXTURES / folder).glob("*.zip")]
    assert sum(agreements(path)[1] for path in paths) > 120
