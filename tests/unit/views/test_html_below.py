"""What the compiler made of a graph, further down: what stayed apart, what could be recomputed, caches."""

from __future__ import annotations

from dataclasses import replace

import builder_below as below
import builders

from compilescope.analysis import report_run as run
from compilescope.analysis.report_caches import CacheTotals, Profile
from compilescope.analysis.report_graph import Decomposition, SourceLine, Unfused
from compilescope.views.html import render

LINE = SourceLine("model.py", 14, "forward", "x @ w")


def page_of(**changes) -> str:
    graph = replace(below.forward_graph(), **changes)
    return render(replace(builders.rich(), graphs=[graph]))


def test_pairs_that_stayed_apart_and_why() -> None:
    pair = Unfused(["aten.relu"], ["aten.sum"], "reductions have other sizes", False, ["buf3"], [LINE])
    fusion = replace(
        below.forward_graph().fusion,
        unfused=[pair] * 9,
        unfused_count=30,
        unfused_reasons={"too large": 4},
        more={"unfused": 21},
    )
    page = page_of(fusion=fusion)
    for fact in (
        "4 pairs: too large", "reductions have other sizes", "both read buf3", "and 22 more pairs"
    ):  # fmt: skip
        assert fact in page, fact


def test_what_could_be_recomputed_and_what_an_operator_became() -> None:
    aot = replace(
        below.forward_graph().aot,
        recomputable=["relu"], recomputable_count=3, recomputable_bytes=4096, op_counts={"aten.mm": 7},
    )  # fmt: skip
    page = page_of(
        aot=aot, decompositions=[Decomposition("aten.gelu", {"aten.erf": 1, "aten.mul": 3}, [LINE], False)]
    )
    for fact in (
        "3 saved tensors of 4.1 kB",
        "7 aten.mm",
        "1 aten.erf, 3 aten.mul",
        "what shares a kernel with it",
    ):
        assert fact in page, fact


def test_every_cache_has_its_outcomes() -> None:
    caches = CacheTotals(
        {"hit": 2}, {}, {"miss": 1}, {"hit": 5}, {"fx_graph": {"hit": 1}}, {"fx_graph": 3.5},
        [Profile("p", "miss", "another torch", "k", None, 0.1)],
    )  # fmt: skip
    page = render(replace(builders.empty(), caches=caches))
    for fact in ("5 hit", "Remote, fx graph", "3.50 s", "miss: another torch", "read in 0.10 s"):
        assert fact in page, fact


def test_a_graph_compiled_again_for_another_device_is_listed() -> None:
    twin = run.DeviceTwin("f", "a.py", 3, builders.facts.PROCESS, "0/2", "0/1", "cuda:0", "cuda:1", 1.5)
    page = render(replace(builders.rich(), device_twins=[twin]))
    assert "cuda:0 → cuda:1" in page
    assert "Compiled again although only the number of a device differs" in page


def test_rungs_stand_side_by_side_with_what_was_made_of_them() -> None:
    code = run.RungCode("inference", {"cpp": 2, "extern": 1}, 3, 5, 4, 81_920, 4096, 1, "cabc", None)
    first, *others = below.buckets()
    page = render(replace(builders.rich(), buckets=[replace(first, made=[code]), *others]))
    for fact in ("What Inductor made of each rung", "2 cpp, 1 extern", "5 → 4", "82 kB", "4.1 kB"):
        assert fact in page, fact
    assert "What Inductor made of each rung" not in render(replace(builders.rich(), buckets=others))
