"""Cache outcomes over all processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from compilescope.analysis.report import CacheTotals
from compilescope.model import Process


def cache_totals(processes: Iterable[Process]) -> CacheTotals:
    counts: dict[str, Counter[str]] = {"fx_graph": Counter(), "aot_autograd": Counter()}
    for process in processes:
        for event in process.caches:
            counts[event.cache][event.outcome] += 1
    return CacheTotals(dict(counts["fx_graph"]), dict(counts["aot_autograd"]))


def served_from_cache(totals: CacheTotals) -> str | None:
    """ "3 of 4 graphs came from the compile cache", None when none did."""
    hits = totals.fx_graph.get("hit", 0) + totals.aot_autograd.get("hit", 0)
    asked = hits + totals.fx_graph.get("miss", 0) + totals.fx_graph.get("bypass", 0)
    if not hits:
        return None
    return f"{hits} of {asked} compiled graphs came from a cache, so a first run takes longer"
