"""Outcomes of every compile cache, and why one has none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from model_values import compiled, graph, place, process

from compilescope.analysis.bundles import triton_bundle
from compilescope.analysis.caches import cache_totals, served_from_cache
from compilescope.model import CacheEvent, CompileId, PgoLookup, Process
from compilescope.model.inductor import CacheOutcome

META = "TritonBundlerMetadata(cached_kernel_names=[{}], statically_launched_kernel_names=[{}])"
BYPASS = PgoLookup("bypass", "no job id", None, None, 0.001)


def _process(**more: Any) -> Process:
    of = process(compiled(0, place("f", 3)), graphs=(graph(0),), hooks={"pgo": "ok"})
    return replace(of, **more)


def _reasons(*processes: Process) -> dict[str, str]:
    return {fact.fact: fact.reason for fact in cache_totals(processes, []).missing}


def _outcome(outcome: str, bundle: str | None) -> CacheOutcome:
    return CacheOutcome("fx_graph", outcome, "k", None, None, None, None, (), bundle)


def test_profiles_are_counted_with_their_reason() -> None:
    hit = PgoLookup("hit", None, "job:None:", 4, 0.002)
    totals = cache_totals([_process(pgo=(BYPASS,)), _process(pgo=(hit,))], [])
    assert totals.pgo == {"bypass": 1, "hit": 1}
    assert [(p.outcome, p.reason, p.frames) for p in totals.profiles] == [
        ("bypass", "no job id", None),
        ("hit", None, 4),
    ]
    assert "pgo" not in {fact.fact for fact in totals.missing}


def test_remote_caches_are_added_up() -> None:
    processes = [_process(remote_caches={"fx_graph": {"hit": 2}}) for _ in range(2)]
    assert cache_totals(processes, []).remote == {"fx_graph": {"hit": 4}}


def test_a_cache_nobody_asked_says_why() -> None:
    reasons = _reasons(_process())
    assert reasons["remote"].startswith("no remote cache was asked")
    assert reasons["pgo"].startswith("nothing was compiled")
    assert "without details" in reasons["triton_bundle"]
    assert "hook" in _reasons(_process(hooks={"pgo": "missing: torch._dynamo.pgo is not there"}))["pgo"]
    assert "TORCH_TRACE" in _reasons(_process(kind="torch_trace"))["pgo"]
    assert "before" in _reasons(_process(hooks={}))["pgo"]


@pytest.mark.parametrize(
    ("outcome", "bundle", "expected"),
    [
        (
            "hit",
            META.format("'a', 'b'", ""),
            ("hit", "2 kernels restored; the time saved is in that of the FX graph"),
        ),
        ("miss", META.format("", "'a'"), ("miss", "1 kernel compiled and stored")),
        ("miss", META.format("", ""), None),
        ("hit", "TritonBundlerMetadata(", None),
        ("bypass", None, None),
    ],
)
def test_triton_kernels_that_are_stored_with_a_graph(
    outcome: str, bundle: str | None, expected: tuple[str, str] | None
) -> None:
    found = triton_bundle(_outcome(outcome, bundle))
    assert (found and (found.outcome, found.reason)) == expected


def test_without_bundling_the_look_up_is_bypassed() -> None:
    found = triton_bundle(_outcome("miss", None))
    assert found is not None
    assert found.outcome == "bypass"
    assert "bundle_triton_into_fx_graph_cache" in (found.reason or "")


AOT_HIT = (("fx_graph", "hit"), ("fx_graph", "hit"), ("aot_autograd", "hit"))  # a forward and its backward
MISSED = (("aot_autograd", "miss"), ("fx_graph", "miss"), ("fx_graph", "miss"))


@pytest.mark.parametrize(
    ("frames", "told"),
    [
        ([AOT_HIT, AOT_HIT], "2 of 2"),
        ([AOT_HIT, MISSED], "1 of 2"),
        ([AOT_HIT[1:]], "1 of 1"),  # inference: no backward
        ([AOT_HIT[:2]], "1 of 1"),  # AOTAutograd's cache is off
        ([(("aot_autograd", "bypass"), ("fx_graph", "hit"))], "1 of 1"),
        ([(("aot_autograd", "miss"), ("fx_graph", "hit"), ("fx_graph", "miss")), AOT_HIT], "1 of 2"),
        ([MISSED + MISSED + AOT_HIT], "1 of 3"),  # rungs of one ladder are compiled under one id
        ([MISSED], None),
    ],
)
def test_a_graph_served_by_a_cache_is_one_however_many_caches_were_asked(
    frames: list[tuple[tuple[str, str], ...]], told: str | None
) -> None:
    events = [
        CacheEvent(cache, outcome, CompileId(0, frame, 0))
        for frame, found in enumerate(frames)
        for cache, outcome in found
    ]
    expected = f"{told} compiled graphs came from a cache, so a first run takes longer" if told else None
    assert served_from_cache([_process(caches=tuple(events))]) == expected
