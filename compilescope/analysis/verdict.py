"""The first ten seconds: up to three plain sentences about the whole run."""

from __future__ import annotations

from collections.abc import Sequence

from compilescope.analysis.report import (
    Diagnosis,
    Failure,
    GraphBreak,
    LimitHit,
    Recompile,
    RecordingInfo,
    Totals,
    Verdict,
)
from compilescope.units import count, percent, seconds

_MAX_SENTENCES = 3
_STEADY = frozenset(("training_mode", "grad_mode", "autocast", "dtype", "stride", "size"))


def verdict(
    recording: RecordingInfo,
    totals: Totals,
    *,
    limits: Sequence[LimitHit],
    breaks: Sequence[GraphBreak],
    recompiles: Sequence[Recompile],
    failures: Sequence[Failure],
    diagnoses: Sequence[Diagnosis],
    last_compile_s: float | None,
    unfinished: str | None = None,
) -> Verdict:
    """``unfinished`` names the function that was being compiled when the program ended."""
    share = None
    if totals.compile_wall_s is not None and recording.wall_s:
        share = min(1.0, round(totals.compile_wall_s / recording.wall_s, 4))
    settled = _settled(totals, limits, recompiles)
    why = [d.text for d in diagnoses if d.slug not in ("served_from_cache", "attached_late")]
    sentences = why or [
        *_time(recording, totals),
        *_cut(unfinished),
        *_failures(failures),
        *_limits([limit for limit in limits if not _raises(limit, failures)], recompiles),
        *_breaks(breaks),
        *_recompiles(totals, recompiles, limits),
        *_clean(totals, breaks, failures),
    ]
    return Verdict(sentences[:_MAX_SENTENCES], share, settled, last_compile_s)


def _time(recording: RecordingInfo, totals: Totals) -> list[str]:
    spent, wall = totals.compile_wall_s, recording.wall_s
    if spent is None:
        return []
    if wall is None:
        return [f"Compiling took {seconds(spent)}."]
    return [f"Compiling took {seconds(spent)} of {seconds(wall)} ({percent(spent, wall)})."]


def _cut(unfinished: str | None) -> list[str]:
    return [f"It ended while {unfinished} was being compiled."] if unfinished else []


def _failures(failures: Sequence[Failure]) -> list[str]:
    if not failures:
        return []
    first = failures[0]
    where = f" ({first.file}:{first.line})" if first.file else ""
    more = f", and {count(len(failures) - 1, 'more compile')}" if len(failures) > 1 else ""
    fate = "runs WITHOUT torch.compile" if first.suppressed else "raised an error"
    return [
        f"Compiling {first.function or 'a function'}(){where} failed with {first.exception} and {fate}{more}."
    ]


def _raises(limit: LimitHit, failures: Sequence[Failure]) -> bool:
    """Under fullgraph=True a refused call is an error, and stands among the failures."""
    return any(f.exception == "FailOnRecompileLimitHit" and f.function == limit.function for f in failures)


def _limits(limits: Sequence[LimitHit], recompiles: Sequence[Recompile]) -> list[str]:
    if not limits:
        return []
    names = [f"{limit.function}()" for limit in limits[:2]]
    more = f" and {len(limits) - 2} more" if len(limits) > 2 else ""
    verb = "now run" if len(limits) > 1 else "now runs"
    sentence = f"{' and '.join(names)}{more} hit the recompile limit and {verb} WITHOUT torch.compile."
    causes = [r for r in recompiles if r.blocked_by_limit]
    made = sum(limit.total_calls or 0 for limit in limits)
    every = max((r.count + r.blocked_by_limit for r in causes), default=0)
    eager = sum(limit.eager_calls or 0 for limit in limits)
    if made and every and made == every + eager:
        return [sentence, "It did not settle: every call differed."]
    return [sentence, "It did not settle."]


def _breaks(breaks: Sequence[GraphBreak]) -> list[str]:
    own = [b for b in breaks if not b.library]
    if not own:
        return []
    hot = max(own, key=lambda b: b.runtime_hits or 0)
    which = "the line" if len(own) == 1 else "the line that breaks most"
    ran = f"; {which}, {hot.file}:{hot.line}, ran {count(hot.runtime_hits, 'time')}"
    verb = "splits" if len(own) == 1 else "split"
    return [f"{count(len(own), 'graph break')} {verb} the compiled code{ran if hot.runtime_hits else ''}."]


def _recompiles(totals: Totals, recompiles: Sequence[Recompile], limits: Sequence[LimitHit]) -> list[str]:
    if not totals.recompiles or limits:
        return []
    costly = [r for r in recompiles if not r.benign and r.caused_by is None]
    if not costly:
        return [f"{count(totals.recompiles, 'recompile')}, none of which will repeat."] if recompiles else []
    head = costly[0]
    return [f"{count(totals.recompiles, 'recompile')}, most of it {head.function}(): {head.source} changed."]


def _clean(totals: Totals, breaks: Sequence[GraphBreak], failures: Sequence[Failure]) -> list[str]:
    if totals.recompiles or breaks or failures or totals.limit_hits or not totals.graphs:
        return []
    calls = f", {count(totals.compiled_calls, 'compiled call')}" if totals.compiled_calls is not None else ""
    return [f"No graph break and no recompile: {count(totals.graphs, 'graph')}{calls}."]


def _settled(totals: Totals, limits: Sequence[LimitHit], recompiles: Sequence[Recompile]) -> bool | None:
    """Whether compiling has come to an end. None when nothing was compiled."""
    if not totals.compiles:
        return None
    if limits:
        return False
    return not any(r.count >= 3 and r.kind not in _STEADY and not r.benign for r in recompiles)
