"""Cache outcomes over all processes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from compilescope.analysis.bundles import NAME as BUNDLE
from compilescope.analysis.report import CacheTotals, Graph, Missing, Profile
from compilescope.model import CacheEvent, CompileId, PgoLookup, Process

_NO_REMOTE = "no remote cache was asked: torch's remote caches are off, as they are without a server set up"
_LOG_PGO = "a TORCH_TRACE log tells only of profiles that were found"
_NO_HOOK = "the hook on the look-up was not there: {state}"
_NOT_YET = "nothing was compiled that asks for a profile"
_NO_DETAIL = "not asked for: the report was built without details"
_NO_BUNDLE = "no look-up of the FX graph cache had a Triton kernel to restore or to store"
_NO_SAVING = "torch states the time saved for hits of the FX graph and AOTAutograd caches, and there was none"


def cache_totals(processes: Sequence[Process], graphs: Sequence[Graph]) -> CacheTotals:
    counts: dict[str, Counter[str]] = {"fx_graph": Counter(), "aot_autograd": Counter()}
    remote: dict[str, Counter[str]] = defaultdict(Counter)
    profiles = []
    for process in processes:
        for event in process.caches:
            counts[event.cache][event.outcome] += 1
        for cache, found in process.remote_caches.items():
            remote[cache].update(found)
        profiles += [_profile(process, lookup) for lookup in process.pgo]
    listed = [outcome for graph in graphs for outcome in graph.cache_outcomes]
    saved: dict[str, float] = defaultdict(float)
    for outcome in listed:
        if outcome.outcome == "hit" and outcome.saved_s is not None:
            saved[outcome.cache] += outcome.saved_s
    totals = CacheTotals(
        fx_graph=dict(counts["fx_graph"]),
        aot_autograd=dict(counts["aot_autograd"]),
        pgo=dict(Counter(profile.outcome for profile in profiles)),
        triton_bundle=dict(Counter(o.outcome for o in listed if o.cache == BUNDLE)),
        remote={cache: dict(found) for cache, found in remote.items()},
        saved_s={cache: round(seconds, 6) for cache, seconds in saved.items()},
        profiles=profiles,
    )
    return replace(totals, missing=list(_missing(processes, totals)))


def _profile(process: Process, found: PgoLookup) -> Profile:
    missing = []
    if process.kind == "torch_trace":
        missing = [Missing(name, _LOG_PGO) for name in ("key", "frames", "took_s")]
    elif found.key is None and found.outcome != "bypass":
        missing = [Missing("key", "it was not recorded")]
    return Profile(process.id, found.outcome, found.reason, found.key, found.frames, found.took_s, missing)


def _missing(processes: Sequence[Process], totals: CacheTotals) -> Iterator[Missing]:
    if not totals.pgo:
        yield Missing("pgo", _why_no_profile(processes))
    elif totals.pgo.get("hit"):
        yield Missing("saved_s of pgo", "torch does not say what a profile saved")
    if not totals.remote:
        yield Missing("remote", _NO_REMOTE)
    detailed = any(process.detail is not None for process in processes)
    if not totals.triton_bundle:
        yield Missing("triton_bundle", _NO_BUNDLE if detailed else _NO_DETAIL)
    if not totals.saved_s:
        yield Missing("saved_s", _NO_SAVING if detailed else _NO_DETAIL)


def _why_no_profile(processes: Sequence[Process]) -> str:
    if any(process.kind == "torch_trace" for process in processes):
        return _LOG_PGO
    states = [process.hooks["pgo"] for process in processes if process.hooks.get("pgo", "ok") != "ok"]
    if states:
        return _NO_HOOK.format(state=states[0])
    if any("pgo" not in process.hooks for process in processes):
        return "the recording was made before this was captured"
    return _NOT_YET


def served_from_cache(processes: Sequence[Process]) -> str | None:
    """ "3 of 4 compiled graphs came from a cache, ..", None when none did."""
    served = asked = 0
    for process in processes:
        graphs = Counter(graph.compile for graph in process.graphs)
        events: dict[CompileId | None, list[CacheEvent]] = defaultdict(list)
        for event in process.caches:
            events[event.compile].append(event)
        for compile_id, found in events.items():
            hits, all_ = _graphs(found, graphs[compile_id] if compile_id else 0)
            served, asked = served + hits, asked + all_
    if not served:
        return None
    return f"{served} of {asked} compiled graphs came from a cache, so a first run takes longer"


def _graphs(events: Sequence[CacheEvent], captured: int) -> tuple[int, int]:
    """Graphs of one compile that a cache served, of how many. AOTAutograd's cache is asked once for a graph;
    that of FX graphs once for its forward and once for its backward, also below a hit of AOTAutograd's.
    """
    whole = [event.outcome for event in events if event.cache == "aot_autograd"]
    parts = [event.outcome for event in events if event.cache == "fx_graph"]
    asked = len(whole) or max(captured, 1)
    if parts and set(parts) == {"hit"}:
        return asked, asked
    return whole.count("hit"), asked
