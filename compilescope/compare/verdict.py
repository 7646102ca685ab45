"""The first lines of a diff: is HEAD better or worse, by what, and what could mislead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compilescope.compare.diff import (
    BucketChange,
    Changed,
    ChoiceChange,
    CountRow,
    FindingChange,
    FindingsDiff,
    FunctionChange,
    KernelChange,
    KeyRow,
    SizesChange,
    TimeRow,
)
from compilescope.units import count, seconds

_WORD = {
    "worse": "HEAD is worse than BASE",
    "better": "HEAD is better than BASE",
    "mixed": "HEAD is better in some things and worse in others",
    "other": "HEAD differs from BASE",
}
_NAMED = {
    "graph_break_sites": ("graph break", "graph breaks"),
    "recompiles": ("recompile", "recompiles"),
    "blocked_by_limit": ("refused compile", "refused compiles"),
    "limit_hits": ("recompile limit hit", "recompile limit hits"),
    "failures": ("failure", "failures"),
    "skipped_frames": ("skipped frame", "skipped frames"),
    "cudagraph_recordings": ("CUDA graph recording", "CUDA graph recordings"),
    "cudagraph_skips": ("CUDA graph skip", "CUDA graph skips"),
    "bucket_rungs_refused": ("refused bucket", "refused buckets"),
    "bucket_rungs_failed": ("failed bucket", "failed buckets"),
}
_MOST_NAMED = 4


def direction(
    findings: FindingsDiff,
    counts: Sequence[CountRow],
    times: Sequence[TimeRow],
    *,
    differs: bool,
    base_ended: bool,
    head_ended: bool,
) -> str:
    """same | better | worse | mixed | other; notes, and numbers that grow with the steps, do not decide."""
    if not differs:
        return "same"
    signs = {True for f in findings.new if f.severity != "note"}
    signs |= {False for f in findings.gone if f.severity != "note"}
    signs |= {c.worse for c in findings.changed if c.worse is not None and not _is_note(c)}
    signs |= {row.more > 0 for row in counts if row.bad and not row.per_step and row.more}
    signs |= {(row.head_s or 0.0) > (row.base_s or 0.0) for row in times if row.differs}
    if len(signs) == 2:
        return "mixed"
    word = ("worse" if signs.pop() else "better") if signs else "other"
    # A run that did not reach its end has fewer faults, not better code.
    cut_off = {"better": not head_ended and base_ended, "worse": not base_ended and head_ended}
    return "other" if cut_off.get(word) else word


def _is_note(change: FindingChange) -> bool:
    return change.base.severity == change.head.severity == "note"


def verdict(
    word: str,
    environment: Sequence[Changed],
    findings: FindingsDiff,
    counts: Sequence[CountRow],
    times: Sequence[TimeRow],
    others: Sequence[str],
) -> list[str]:
    """Sentences. That versions or devices differ comes first: it may explain all the rest."""
    said = [_elsewhere(environment)] if environment else []
    if word == "same":
        return [*said, "No difference: the same findings, counts, graphs, kernels and cache keys."]
    parts = [*_findings(findings), *_counts(counts)]
    if word == "other" and environment and not parts and not others:
        return [*said, "Nothing else differs."]
    neither = ", neither better nor worse by what is counted" if word == "other" and not parts else ""
    said.append(f"{_WORD[word]}{neither}{': ' + ', '.join(parts) if parts else ''}.")
    slower = [row for row in times if row.differs]
    said += [f"{_time_name(row.name)}: {seconds(row.base_s)} → {seconds(row.head_s)}." for row in slower[:1]]
    if others:
        said.append(f"Also other: {', '.join(others)}.")
    return said


def _elsewhere(environment: Sequence[Changed]) -> str:
    names = [f"{c.name} {c.base or 'unknown'} → {c.head or 'unknown'}" for c in environment]
    return f"Not the same environment: {', '.join(names)}. Times are not compared."


def _findings(findings: FindingsDiff) -> Iterator[str]:
    if findings.new:
        yield f"{count(len(findings.new), 'new finding')}"
    if findings.gone:
        yield f"{count(len(findings.gone), 'finding')} gone"
    grown = sum(change.worse is True for change in findings.changed)
    less = sum(change.worse is False for change in findings.changed)
    rest = len(findings.changed) - grown - less
    for number, word in ((grown, "worse"), (less, "less"), (rest, "changed")):
        if number:
            yield f"{count(number, 'finding')} {word}"


def _counts(counts: Sequence[CountRow]) -> list[str]:
    parts = []
    for row in counts:
        if row.bad and not row.per_step and row.more and row.name in _NAMED:
            word = "more" if row.more > 0 else "fewer"
            one, many = _NAMED[row.name]
            parts.append(f"{abs(row.more):,} {word} {one if abs(row.more) == 1 else many}")
    return parts[:_MOST_NAMED]


def _time_name(name: str) -> str:
    return {"compile_wall_s": "Compiling took"}.get(name, name.removesuffix("_s").replace("_", " "))


def others(
    functions: Sequence[FunctionChange],
    kernels: Sequence[KernelChange],
    choices: Sequence[ChoiceChange],
    sizes: Sequence[SizesChange],
    buckets: Sequence[BucketChange],
    keys: Sequence[KeyRow],
) -> list[str]:
    """What else differs, in words: "2 functions cut in another way"."""
    chosen = [c for c in choices if not c.draw]
    changed = [k for k in keys if k.status == "changed"]
    found = (
        (len(functions), "function with other graphs", "functions with other graphs"),
        (len(kernels), "kernel", "kernels"),
        (len(chosen), "autotuned choice", "autotuned choices"),
        (len(sizes), "size", "sizes"),
        (len(buckets), "bucket", "buckets"),
        (len(changed), "cache key", "cache keys"),
    )
    return [count(number, one, many) for number, one, many in found if number]
