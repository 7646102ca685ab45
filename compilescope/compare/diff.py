"""What differs between two runs: the one object that every view of a diff draws.

``base`` is what was, ``head`` what is compared with it. Unknown is ``None``, never 0. Lists are whole and
in a fixed order: the same two recordings give the same object.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from compilescope.analysis.report import KeyChange

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two runs."""

    path: str
    name: str
    command: list[str]
    started: str | None
    ended: str | None
    complete: bool
    git_revision: str | None
    git_dirty: bool | None
    versions: dict[str, str]
    device: str | None
    processes: int


@dataclass(frozen=True, slots=True)
class Changed:
    """A fact of the environment that differs: a version, the device, the driver."""

    name: str
    base: str | None
    head: str | None


@dataclass(frozen=True, slots=True)
class CountRow:
    """An exact number of both runs. ``bad``: more of it is worse; ``per_step``: it grows with the run."""

    name: str
    base: int | None
    head: int | None
    bad: bool
    per_step: bool

    @property
    def differs(self) -> bool:
        return self.base != self.head

    @property
    def more(self) -> int:
        """How many more HEAD has; 0 where either is unknown."""
        return self.head - self.base if self.base is not None and self.head is not None else 0


@dataclass(frozen=True, slots=True)
class TimeRow:
    """Seconds of both runs. ``differs``: by more than the factor and by more than the floor."""

    name: str
    base_s: float | None
    head_s: float | None
    differs: bool


@dataclass(frozen=True, slots=True)
class FindingRow:
    """A finding as it stands in one of the runs."""

    identity: str
    rule: str
    severity: str
    file: str | None
    line: int | None
    function: str | None
    summary: str
    fix: str


@dataclass(frozen=True, slots=True)
class FindingChange:
    """The same finding in both runs, with other counts. ``worse``: None is neither."""

    base: FindingRow
    head: FindingRow
    counts: list[CountRow]
    worse: bool | None


@dataclass(frozen=True, slots=True)
class FindingsDiff:
    """Findings by identity: rule, file, function and cause. ``same``: in both, with the same counts."""

    new: list[FindingRow]
    gone: list[FindingRow]
    changed: list[FindingChange]
    same: int


@dataclass(frozen=True, slots=True)
class Place:
    """A function of one or both runs; the line is HEAD's where it has the function. Ranks: empty is all."""

    function: str
    file: str
    line: int | None
    ranks: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FunctionShape:
    """How a function was cut: code parts (itself and what resumes after its breaks), graphs, their ops."""

    parts: int
    graphs: int
    ops: list[int | None]


@dataclass(frozen=True, slots=True)
class FunctionChange:
    """``change``: split, merged (other code parts), more graphs, fewer graphs, other ops, new, gone."""

    place: Place
    change: str
    base: FunctionShape | None
    head: FunctionShape | None


@dataclass(frozen=True, slots=True)
class KernelChange:
    """A kernel of a graph both runs have. ``change``: choice (other kind for the same ops), new, gone,
    launches. ``base`` and ``head`` are kinds: ``extern gemm (cuBLAS)``.
    """

    place: Place
    direction: str | None
    change: str
    ops: list[str]
    base: str | None
    head: str | None
    base_launches: int
    head_launches: int


@dataclass(frozen=True, slots=True)
class ChoiceChange:
    """An operation that was tuned in both runs and got another winner.

    Times are of one candidate in its own run. ``draw``: by the times of either run the two winners are
    equally fast, so that the change is chance.
    """

    place: Place
    op: str
    shapes: list[str]
    base: str
    head: str
    base_backend: str | None
    head_backend: str | None
    base_ms: float | None
    head_ms: float | None
    draw: bool


@dataclass(frozen=True, slots=True)
class SizeRange:
    """The values one size had in one run."""

    smallest: int
    largest: int
    distinct: int
    calls: int


@dataclass(frozen=True, slots=True)
class SizesChange:
    """A size that took other values, or the same in clearly other shares.

    ``moved_share`` is the share of calls that would have to change their size to make the two alike.
    """

    place: Place
    name: str
    base: SizeRange | None
    head: SizeRange | None
    new: list[int]
    gone: list[int]
    moved_share: float | None


@dataclass(frozen=True, slots=True)
class BucketChange:
    """A rung of a bucket ladder. ``change``: new, gone, or other: served in another way.

    ``base`` and ``head`` say how: ``pin``, ``pad, refused``.
    """

    place: Place
    rung: str
    change: str
    base: str | None
    head: str | None
    base_hits: int | None
    head_hits: int | None


@dataclass(frozen=True, slots=True)
class KeyRow:
    """One look-up of a compile cache, paired with the same look-up of the other run.

    ``status``: same, changed, or unknown with its ``reason``. Outcomes: hit, miss, bypass.
    """

    place: Place
    cache: str
    compile_id: str | None
    direction: str | None  # None where the order of look-ups does not tell
    base_outcome: str | None
    head_outcome: str | None
    status: str
    reason: str | None
    changes: list[KeyChange]


@dataclass(frozen=True, slots=True)
class NotCompared:
    """A fact that ``side`` (base, head or both) does not know, and why."""

    side: str
    fact: str
    reason: str


@dataclass(frozen=True, slots=True)
class Diff:
    """``differs``: anything but times within their limits and what only describes the conditions."""

    format_version: int
    base: Side
    head: Side
    differs: bool
    direction: str  # same | better | worse | mixed | other
    verdict: list[str]
    environment: list[Changed]
    conditions: list[str]  # what makes figures of the two hard to compare
    findings: FindingsDiff
    counts: list[CountRow]
    times: list[TimeRow]
    functions: list[FunctionChange]
    kernels: list[KernelChange]
    choices: list[ChoiceChange]
    sizes: list[SizesChange]
    buckets: list[BucketChange]
    cache_keys: list[KeyRow]
    not_compared: list[NotCompared]
