"""Rungs of a ladder side by side: kernels, bytes and memory of each, from a kept recording."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from compilescope.analysis import Report, build_report
from compilescope.analysis.report import RungCode
from compilescope.recording import open_recording

LADDER = Path(__file__).parents[3] / "fixtures" / "corpus" / "compiled" / "ladder.zip"


@cache
def report() -> Report:
    return build_report(open_recording(LADDER))


def made(graph: str) -> dict[str, list[RungCode]]:
    return {b.rung: b.made for b in report().buckets if b.graph == graph and b.made}


def test_each_rung_has_its_own_code() -> None:
    by_rung = made("0/0")
    assert set(by_rung) == {"8", "16", "32", "1..64@40", "dynamic"}
    assert all([m.direction for m in rows] == ["inference"] for rows in by_rung.values())
    assert all(rows[0].kernels == {"extern": 1, "cpp": 1} for rows in by_rung.values())
    assert len({rows[0].code for rows in by_rung.values()}) >= 3


def test_bytes_and_memory_grow_with_the_rung() -> None:
    """x [n, 16] @ w [16, 4] + b, then relu in place: read x, w, b, write y, read and write y."""
    for rows in (8, 16, 32):
        (code,) = made("0/0")[str(rows)]
        assert code.bytes_moved == (rows * 16 + 16 * 4 + 4 + rows * 4) * 4 + 2 * rows * 4 * 4
        assert code.peak_bytes == rows * 4 * 4


def test_a_training_graph_has_a_backward_for_each_rung() -> None:
    for rows in made("0/2").values():
        assert [m.direction for m in rows] == ["forward", "backward"]


def test_rungs_that_were_refused_have_no_code() -> None:
    assert all(not b.made for b in report().buckets if b.refused)
