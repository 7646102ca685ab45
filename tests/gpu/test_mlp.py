"""Winner per size with max-autotune, against Inductor's own printout."""

from __future__ import annotations

import pytest

from compilescope.model.inductor import kinds as k

from .recorded import Recorded

SIZES = ["1", "16", "64", "256", "1024", "4096"]


def test_every_printed_choice_is_in_the_report_with_the_same_winner(mlp: Recorded) -> None:
    printed = mlp.autotune_printout
    assert len(printed) >= 2 * len(SIZES)
    rows = [
        (site.op, ", ".join(row.timed_at), row.winner, row.winner_ms)
        for site in mlp.report.tuned_sites
        for row in site.rows
    ]
    for op, shapes, winner, milliseconds in printed:
        fitting = [row for row in rows if row[:3] == (op, shapes, winner)]
        assert fitting, (op, shapes, winner, rows)
        assert any(row[3] == pytest.approx(milliseconds, abs=1e-4) for row in fitting)


def test_the_table_has_a_row_for_each_size_of_each_layer(mlp: Recorded) -> None:
    sites = mlp.report.tuned_sites
    assert len(sites) == 2
    for site, code in zip(
        sorted(sites, key=lambda site: site.lines[0].line),
        ("y = F.gelu(FIRST(x))", "return SECOND(y)"),
        strict=True,
    ):
        static = [row for row in site.rows if row.shapes == row.timed_at]
        assert [row.label for row in static] == SIZES
        assert [row.calls for row in static] == [2] * len(SIZES)
        assert {row.winner_backend for row in site.rows} <= {"triton", "extern"}
        assert all(row.margin is not None and row.margin >= 1 for row in site.rows)
        assert all(row.default == site.op for row in site.rows)
        assert all(row.winner_config for row in site.rows if row.winner_backend == "triton")
        assert site.config_changes >= 2  # no configuration is best from 1 to 4096 tokens
        assert [line.line for line in site.lines] == [mlp.line(code)]


def test_tuned_at_16_and_used_at_777(mlp: Recorded) -> None:
    dynamic = [row for site in mlp.report.tuned_sites for row in site.rows if row.shapes != row.timed_at]
    assert len(dynamic) == 2
    for row in dynamic:
        assert (row.label, row.calls, row.calls_far, row.far_share) == ("16", 4, 3, 0.75)
        assert row.uses[0].calls == 3
        assert row.uses[0].ratio == pytest.approx(777 / 16, rel=1e-3)


def test_what_the_code_launches(mlp: Recorded) -> None:
    """The template of the winner, except where fusing the epilogue was timed and made another one quicker."""
    rows = [row for site in mlp.report.tuned_sites for row in site.rows]
    assert all(row.emitted is not None for row in rows)
    for graph in mlp.graphs:
        found = {kernel.kind for kernel in graph.kernels}
        assert found & {k.TEMPLATE, k.GEMM}
    last = [site for site in mlp.report.tuned_sites if site.lines[0].line == mlp.line("return SECOND(y)")]
    assert all(row.emitted == row.winner_backend for site in last for row in site.rows)
