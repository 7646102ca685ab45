"""The first ten seconds: up to three plain sentences about the whole run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from compilescope.analysis.paths import called
from compilescope.analysis.report import (
    Diagnosis,
    Failure,
    GraphBreak,
    LimitHit,
    Recompile,
    RecordingInfo,
    Skip,
    Totals,
    Verdict,
)
from compilescope.analysis.worst import ran
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
    skips: Sequence[Skip],
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
        *_given_up(breaks, skips),
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
    more = f"; {count(len(failures) - 1, 'more compile')} failed" if len(failures) > 1 else ""
    fate = "runs WITHOUT torch.compile" if first.suppressed else "raised an error"
    return [f"Compiling {called(first.function)}{where} failed with {first.exception} and {fate}{more}."]


def _raises(limit: LimitHit, failures: Sequence[Failure]) -> bool:
    """Under fullgraph=True a refused call is an error, and stands among the failures."""
    return any(f.exception == "FailOnRecompileLimitHit" and f.function == limit.function for f in failures)


def _limits(limits: Sequence[LimitHit], recompiles: Sequence[Recompile]) -> list[str]:
    if not limits:
        return []
    names = [_limited(limit) for limit in limits[:2]]
    more = f" and {len(limits) - 2} more" if len(limits) > 2 else ""
    sentence = f"{' and '.join(names)}{more} hit the recompile limit: {_since(limits)}."
    causes = [r for r in recompiles if r.blocked_by_limit]
    made = sum(limit.total_calls or 0 for limit in limits)
    every = max((r.count + r.blocked_by_limit for r in causes), default=0)
    eager = sum(limit.eager_calls or 0 for limit in limits)
    if made and every and made == every + eager:
        return [sentence, "It did not settle: every call differed."]
    return [sentence, "It did not settle."]


def _since(limits: Sequence[LimitHit]) -> str:
    """Entries compiled before the limit still serve the calls that fit them: all others run eager."""
    known = [(n.eager_calls, n.total_calls) for n in limits]
    eager = sum(ran or 0 for ran, _ in known)
    every = sum(made or 0 for _, made in known)
    if any(ran is None or made is None for ran, made in known):
        return "calls that fit none of the graphs compiled before run WITHOUT torch.compile"
    whose = "their" if len(limits) > 1 else "its"
    return f"{eager:,} of {whose} {count(every, 'call')} ran WITHOUT torch.compile"


def _limited(limit: LimitHit) -> str:
    """A frame of torch's own (``Sequential.forward``) stands at the line that calls it."""
    at_the_call = limit.called_from == f"{limit.file}:{limit.line} {limit.function}"
    return f"What {limit.file}:{limit.line} calls" if at_the_call else called(limit.function)


def _given_up(breaks: Sequence[GraphBreak], skips: Sequence[Skip]) -> list[str]:
    """Functions of which a break leaves nothing compiled, such as one inside of their loop."""
    sites = {b.gb_types[0]: b for b in breaks if b.gb_types and "frame_skipped" in b.resume}
    found = {(s.file, s.line): (s, sites[s.reason]) for s in skips if s.reason in sites}
    if not found:
        return []
    (skip, site), *rest = found.values()
    more = f" and {count(len(rest), 'other function')}" if rest else ""
    verb = "run" if rest else "runs"
    return [f"{called(skip.function)}{more} {verb} WITHOUT torch.compile because of {site.file}:{site.line}."]


def _breaks(breaks: Sequence[GraphBreak]) -> list[str]:
    own = {(b.file, b.line) for b in breaks if not b.library}
    if not own:
        return []
    hot = max((b for b in breaks if not b.library), key=lambda b: b.runtime_hits or 0)
    place = f"{hot.file}:{hot.line}"
    often = ran(hot) if hot.runtime_hits else None
    if len(own) == 1:
        return [f"1 line of your code breaks the graph{f', {often}' if often else ''}: {place}."]
    most = f", most often {place} ({often})" if often else ""
    return [f"{count(len(own), 'line')} of your code break the graph{most}."]


def _recompiles(totals: Totals, recompiles: Sequence[Recompile], limits: Sequence[LimitHit]) -> list[str]:
    if not totals.recompiles or limits:
        return []
    made = count(totals.recompiles, "recompile")
    costly = [r for r in recompiles if not r.benign]
    if not costly:
        fate = "which will not repeat" if totals.recompiles == 1 else "none of which will repeat"
        return [f"{made}, {fate}."] if recompiles else []
    head = next((r for r in costly if r.caused_by is None), costly[0])
    if head.caused_by:
        return [f"{made} behind the graph break at {head.caused_by}."]
    by_cause: dict[tuple[str, str, str], int] = defaultdict(int)
    for row in recompiles:
        by_cause[row.file, row.function, row.source] += row.count
    if totals.recompiles > 1 and max(by_cause.values()) == 1:
        return [f"{made}, each for another reason."]
    same = by_cause[head.file, head.function, head.source]
    share = "" if totals.recompiles == 1 else " all" if same >= totals.recompiles else f" {same} of them"
    if head.kind == "none_failed":
        return [f"{made},{share} though every guard of {called(head.function)} held: see the findings."]
    if head.kind == "unknown":
        return [f"{made},{share} of {called(head.function)}, because of: {head.source}."]
    return [f"{made},{share} because {head.source} changed in {called(head.function)}."]


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
