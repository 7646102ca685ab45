"""Findings of two runs, paired by identity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from compilescope.advice import Finding
from compilescope.compare.diff import CountRow, FindingChange, FindingRow, FindingsDiff

# More of these alone says that the program ran longer, as in the gate.
_PER_STEP = frozenset(("breaks_executed", "eager_calls", "padded_rows"))
_MAY_BE_UNKNOWN = frozenset(("breaks_executed",))  # absent is not 0 there
_NEUTRAL = frozenset(("guards",))
# Whether these are found at all depends on seconds.
_BY_SECONDS = frozenset(("bucket_does_not_pay", "guard_overhead", "same_block_compiled_many_times"))
Key = tuple[str, str]


def findings_diff(
    base: Sequence[Finding],
    head: Sequence[Finding],
    files: tuple[Mapping[str, str], Mapping[str, str]],
) -> FindingsDiff:
    """In the order of the runs' own ranking."""
    old = {_key(f, files[0]): f for f in base}
    new = {_key(f, files[1]): f for f in head}
    pairs = [(old[key], f) for key, f in new.items() if key in old]
    changes = [_change(was, now) for was, now in pairs]
    changed = [change for change in changes if change is not None]
    return FindingsDiff(
        new=[_row(f) for key, f in new.items() if key not in old],
        gone=[_row(f) for key, f in old.items() if key not in new],
        changed=changed,
        same=len(pairs) - len(changed),
    )


def without_chance(found: FindingsDiff) -> tuple[FindingsDiff, list[str]]:
    """Of two runs that compiled the same: a finding that seconds decide is a condition, not a difference."""
    new, gone = ([row for row in rows if row.rule not in _BY_SECONDS] for rows in (found.new, found.gone))
    said = [
        f"only {name} has the finding {row.rule} ({row.file or row.function or '?'}): seconds decide about it"
        for name, rows in (("BASE", found.gone), ("HEAD", found.new))
        for row in rows
        if row.rule in _BY_SECONDS
    ]
    return replace(found, new=new, gone=gone), said


def _key(finding: Finding, files: Mapping[str, str]) -> Key:
    """The identity with the file's name taken out of it and the common name beside it."""
    file = finding.file or "?"
    own = f"{finding.rule}|{file.rsplit('site-packages/', 1)[-1]}|"
    rest = finding.identity.removeprefix(own) if finding.identity.startswith(own) else finding.identity
    return f"{finding.rule}|{rest}", files.get(file, file)


def _row(finding: Finding) -> FindingRow:
    return FindingRow(
        finding.identity,
        finding.rule,
        finding.severity,
        finding.file,
        finding.line,
        finding.function,
        finding.summary,
        finding.fix,
    )


def _change(was: Finding, now: Finding) -> FindingChange | None:
    """Severity and seconds alone are no change: what one cause cost differs from run to run."""
    counts = [
        CountRow(name, _counted(was, name), _counted(now, name), name not in _NEUTRAL, name in _PER_STEP)
        for name in dict.fromkeys((*was.cost, *now.cost))
        if "counted" in _bases(was, now, name)
    ]
    changed = [row for row in counts if row.differs and None not in (row.base, row.head)]
    return FindingChange(_row(was), _row(now), changed, _worse(changed)) if changed else None


def _worse(counts: Sequence[CountRow]) -> bool | None:
    signs = {row.more > 0 for row in counts if row.bad and not row.per_step}
    return signs.pop() if len(signs) == 1 else None


def _counted(finding: Finding, name: str) -> int | None:
    amount = finding.cost.get(name)
    if amount is None:
        return None if name in _MAY_BE_UNKNOWN else 0
    return int(amount.value)


def _bases(was: Finding, now: Finding, name: str) -> set[str]:
    return {f.cost[name].basis for f in (was, now) if name in f.cost}
