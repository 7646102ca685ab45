"""The one report object: what `summary --format json` prints and every other view draws.

Names and meanings are a contract with tools that read the JSON. Unknown is ``None``, never 0, and every
``None`` of a fact has an entry in some ``missing`` list. File names are relative to the working directory
of the run where they lie below it, else absolute; lines are lines of user code, never torch's own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from compilescope.analysis.report_caches import CacheTotals as CacheTotals
from compilescope.analysis.report_caches import Profile as Profile
from compilescope.analysis.report_graph import Aot as Aot
from compilescope.analysis.report_graph import Autotuning as Autotuning
from compilescope.analysis.report_graph import Buffer as Buffer
from compilescope.analysis.report_graph import CacheOutcome as CacheOutcome
from compilescope.analysis.report_graph import Choice as Choice
from compilescope.analysis.report_graph import Crossing as Crossing
from compilescope.analysis.report_graph import Decomposition as Decomposition
from compilescope.analysis.report_graph import FusedGroup as FusedGroup
from compilescope.analysis.report_graph import Fusion as Fusion
from compilescope.analysis.report_graph import GuardRow as GuardRow
from compilescope.analysis.report_graph import Guards as Guards
from compilescope.analysis.report_graph import KernelNode as KernelNode
from compilescope.analysis.report_graph import KernelRow as KernelRow
from compilescope.analysis.report_graph import Memory as Memory
from compilescope.analysis.report_graph import MissedEpilogue as MissedEpilogue
from compilescope.analysis.report_graph import Mutation as Mutation
from compilescope.analysis.report_graph import SavedTensor as SavedTensor
from compilescope.analysis.report_graph import SourceLine as SourceLine
from compilescope.analysis.report_graph import Symbol as Symbol
from compilescope.analysis.report_graph import SymbolGuard as SymbolGuard
from compilescope.analysis.report_graph import Unfused as Unfused
from compilescope.analysis.report_guards import GuardCost as GuardCost
from compilescope.analysis.report_ladder import Ladder as Ladder
from compilescope.analysis.report_ladder import LadderBar as LadderBar
from compilescope.analysis.report_ladder import LadderCost as LadderCost
from compilescope.analysis.report_ladder import LadderCount as LadderCount
from compilescope.analysis.report_ladder import LadderDrift as LadderDrift
from compilescope.analysis.report_ladder import LadderHistogram as LadderHistogram
from compilescope.analysis.report_ladder import LadderRange as LadderRange
from compilescope.analysis.report_ladder import LadderRival as LadderRival
from compilescope.analysis.report_missing import Missing as Missing
from compilescope.analysis.report_run import Bucket as Bucket
from compilescope.analysis.report_run import BucketSize as BucketSize
from compilescope.analysis.report_run import CacheMiss as CacheMiss
from compilescope.analysis.report_run import CallTime as CallTime
from compilescope.analysis.report_run import CompiledAutograd as CompiledAutograd
from compilescope.analysis.report_run import CudagraphFunction as CudagraphFunction
from compilescope.analysis.report_run import Cudagraphs as Cudagraphs
from compilescope.analysis.report_run import CudagraphSkip as CudagraphSkip
from compilescope.analysis.report_run import DeviceTwin as DeviceTwin
from compilescope.analysis.report_run import FramePhases as FramePhases
from compilescope.analysis.report_run import FrameSizes as FrameSizes
from compilescope.analysis.report_run import KeyChange as KeyChange
from compilescope.analysis.report_run import OpenPhase as OpenPhase
from compilescope.analysis.report_run import Phases as Phases
from compilescope.analysis.report_run import RungCode as RungCode
from compilescope.analysis.report_run import SizeRow as SizeRow
from compilescope.analysis.report_run import SizeStep as SizeStep
from compilescope.analysis.report_tuned import CompiledTwice as CompiledTwice
from compilescope.analysis.report_tuned import TunedRow as TunedRow
from compilescope.analysis.report_tuned import TunedSite as TunedSite
from compilescope.analysis.report_tuned import TunedUse as TunedUse

FORMAT_VERSION = 1
AT_LEAST = "at least: "  # begins a basis whose count is a lower bound


@dataclass(frozen=True, slots=True)
class Damage:
    """Something in the recording that could not be read. ``where`` is file:offset."""

    kind: str
    where: str
    detail: str


@dataclass(frozen=True, slots=True)
class RecordingInfo:
    path: str
    command: list[str]
    exit_status: int | None  # as the shell sees it: 0..255, 128+n for signal n; None when unknown
    started: str | None  # ISO 8601, UTC
    wall_s: float | None  # the whole program, by the parent's clock (else first to last record)
    complete: bool  # every process closed its recording
    counts_as_of: str | None  # ISO 8601, UTC: the time of the last counter snapshot
    ended: str | None = None  # "exited 0", "killed by SIGKILL", "still running", ...
    size_bytes: int | None = None
    name: str = ""  # script, module or "-c" as a person would call the program
    git_revision: str | None = None
    git_dirty: bool | None = None
    versions: dict[str, str] = field(default_factory=dict)
    missing: list[Missing] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    id: str
    pid: int | None
    rank: int | None
    world_size: int | None
    torch: str | None
    python: str | None
    device: str | None
    missing: list[Missing] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    argv: list[str] = field(default_factory=list)
    ended: str | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    frames: int
    compiles: int
    graphs: int
    graph_break_sites: int
    graph_break_events: int
    recompiles: int
    limit_hits: int
    failures: int
    compile_wall_s: float | None
    compiled_calls: int | None
    eager_calls: int | None
    processes: int = 1
    blocked_by_limit: int = 0  # compiles refused by the recompile limit
    skipped_frames: int = 0
    compiled: int = 0  # compiles that ended with code, those without an operation included
    uncounted_functions: int = 0  # left to Python as a whole: nothing counts their calls
    warm_up_recompiles: int = 0  # made by bucketed models' warm-ups on purpose, and not in ``recompiles``


@dataclass(frozen=True, slots=True)
class GraphBreak:
    """One distinct site (file, line). ``events`` counts torch's records, ``runtime_hits`` executions."""

    file: str
    line: int
    function: str
    code: str | None
    causes: list[str]
    gb_types: list[str]
    gb_ids: list[str]
    reason: str
    hint: str | None
    events: int
    runtime_hits: int | None
    resume: list[str]
    call_path: list[str]
    compile_ids: list[str]
    process: str
    library: bool = False  # the line is torch's or an installed package's, not the user's
    runtime_hits_basis: str | None = None  # begins with AT_LEAST where the line may have run more often
    warm_up: bool = False  # met by a bucketed model's warm-up alone: no call of the program ran it

    @property
    def ran_at_least(self) -> bool:
        return (self.runtime_hits_basis or "").startswith(AT_LEAST)


@dataclass(frozen=True, slots=True)
class GuardChange:
    """One guarded source that differed from the newest entry when a recompile was decided."""

    source: str
    old: Any
    new: Any
    kind: str = "other"


@dataclass(frozen=True, slots=True)
class Recompile:
    """One distinct cause: (frame code, guarded source, kind). Values are scalars or short text, old ones
    those of the cache entry that came closest to fitting.
    """

    function: str
    file: str
    line: int
    kind: str
    holder: str | None
    value_type: str | None
    source: str
    changes: list[tuple[Any, Any]]
    count: int  # recompiles that produced code in which this cause changed
    blocked_by_limit: int  # refused compiles in which this cause changed
    also_failed: list[GuardChange]
    caused_by: str | None  # "file.py:14" of the graph break that made this guard, if any
    benign: bool
    wasted_compile_s: float | None
    compile_ids: list[str]
    called_from: str | None
    process: str
    code: str | None = None  # the source line that created the guard
    named_by_torch: int = 0  # how often torch's own message named this cause first
    blocked_changes: list[tuple[Any, Any]] = field(default_factory=list)
    thread: str | None = None
    meaning: str | None = None  # what the change amounts to: "contiguous -> channels_last"
    also_failed_count: int = 0  # ``also_failed`` lists the first of them
    # differed from the newest entry too, but had the value of an older one: not what is compiled anew
    also_changed: list[GuardChange] = field(default_factory=list)
    warm_up: bool = False  # of a bucketed model's warm-up, which makes these graphs on purpose
    more: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LimitHit:
    function: str
    file: str
    line: int
    limit: int | None
    last_cause: GuardChange | None
    eager_calls: int | None
    total_calls: int | None
    process: str
    called_from: str | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    exception: str
    message: str
    function: str | None
    file: str | None
    line: int | None
    suppressed: bool
    phase: str | None
    compile_id: str | None
    process: str
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Skip:
    """A frame Dynamo looked at and left to the interpreter."""

    function: str
    file: str
    line: int
    reason: str | None
    process: str


@dataclass(frozen=True, slots=True)
class Placeholder:
    name: str
    kind: str  # tensor | symint | symfloat | other
    source: str | None
    dtype: str | None = None
    shape: list[Any] | None = None
    stride: list[Any] | None = None
    device: str | None = None
    expr: str | None = None
    hint: Any = None
    range: str | None = None


@dataclass(frozen=True, slots=True)
class SizeCount:
    values: dict[str, int]
    count: int


@dataclass(frozen=True, slots=True)
class Specialization:
    source: str
    value: str
    reason: str | None
    file: str | None
    line: int | None
    partner: str | None = None  # the other operand of the line, whose fixed size it took: "self.bias dim 0"


@dataclass(frozen=True, slots=True)
class Graph:
    epoch: int
    compile_id: str
    function: str
    file: str
    line: int
    ops: int | None
    calls: int | None
    backward: bool
    compile_s: float | None
    process: str
    phases: dict[str, float] = field(default_factory=dict)  # exclusive seconds: they add up to compile_s
    cache: dict[str, Any] = field(default_factory=dict)
    placeholders: list[Placeholder] = field(default_factory=list)
    sizes_seen: list[SizeCount] | None = None
    specializations: list[Specialization] = field(default_factory=list)
    kernels: dict[str, int] | None = None  # launches per call by family: triton, extern, cpp, ...
    backend: str | None = None
    missing: list[Missing] = field(default_factory=list)
    direction: str | None = None  # forward | backward | inference; None: no backend below Dynamo told
    backward_compiled: str | None = None  # of a backward: "lazily", "with the forward", "from the cache"
    guards: Guards | None = None
    symbols: list[Symbol] = field(default_factory=list)
    symbol_guards: list[SymbolGuard] = field(default_factory=list)
    kernel_rows: list[KernelRow] = field(default_factory=list)
    kernel_count: int | None = None
    fusion: Fusion | None = None
    memory: Memory | None = None
    aot: Aot | None = None
    autotune: list[Autotuning] = field(default_factory=list)
    cache_outcomes: list[CacheOutcome] = field(default_factory=list)
    crossings: list[Crossing] = field(default_factory=list)
    code: str | None = None  # name of the generated code
    phases_nested: dict[str, float] = field(default_factory=dict)  # torch's own: each holds those inside it
    decompositions: list[Decomposition] = field(default_factory=list)
    more: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Frame:
    """One code object Dynamo compiled (or refused), with what it cost and how it ran."""

    function: str
    file: str
    line: int
    compile_ids: list[str]
    graphs: int
    ops: int | None
    compiled_calls: int | None
    eager_calls: int | None
    compile_s: float | None
    graph_breaks: int
    recompiles: int
    # "compiled" | "graph break" | "recompiled" | "recompile limit" | "failed" | "skipped" | "empty", or
    # "earlier": compiled before capture began
    status: str
    process: str
    resumed_at: int | None = None
    called_from: str | None = None
    missing: list[Missing] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why nothing (or nothing new) was compiled. ``slug`` is stable; ``text`` is one plain sentence."""

    slug: str
    text: str
    process: str | None = None


@dataclass(frozen=True, slots=True)
class Worst:
    """One entry of "fix first": a ranked fact, and what to change where a rule knows."""

    kind: str  # limit_hit | graph_break | recompile | failure | skip
    title: str
    file: str | None
    line: int | None
    function: str | None
    code: str | None
    detail: str | None  # "len(history) 0 -> 1 -> ... -> 8"
    cost: str | None  # each figure says measured, counted or estimated
    note: str | None
    called_from: str | None = None
    fix: str | None = None  # what to change, one sentence


@dataclass(frozen=True, slots=True)
class Verdict:
    """The first ten seconds: one to three plain sentences, and whether compiling has stopped."""

    sentences: list[str]
    compile_share: float | None  # compile_wall_s / wall_s
    settled: bool | None
    last_compile_s: float | None = None  # seconds from start to the end of the last compile


@dataclass(frozen=True, slots=True)
class Report:
    format_version: int
    recording: RecordingInfo
    processes: list[ProcessInfo]
    totals: Totals
    verdict: Verdict
    worst: list[Worst]
    graph_breaks: list[GraphBreak]
    recompiles: list[Recompile]
    limit_hits: list[LimitHit]
    failures: list[Failure]
    skips: list[Skip]
    frames: list[Frame]
    graphs: list[Graph]
    caches: CacheTotals
    diagnoses: list[Diagnosis]
    missing: list[Missing]
    buckets: list[Bucket] = field(default_factory=list)
    findings: list[dict[str, Any]] = field(default_factory=list)
    unknown_records: dict[str, int] = field(default_factory=dict)
    phases: Phases = field(default_factory=Phases)
    sizes: list[FrameSizes] = field(default_factory=list)
    cudagraphs: list[Cudagraphs] = field(default_factory=list)
    compiled_autograd: list[CompiledAutograd] = field(default_factory=list)
    cache_misses: list[CacheMiss] = field(default_factory=list)
    guard_costs: list[GuardCost] = field(default_factory=list)
    tuned_sites: list[TunedSite] = field(default_factory=list)
    compiled_twice: list[CompiledTwice] = field(default_factory=list)
    device_twins: list[DeviceTwin] = field(default_factory=list)
    ladders: list[Ladder] = field(default_factory=list)
    redacted: bool = False  # words of the user's program were replaced by placeholders
    more: dict[str, int] = field(default_factory=dict)
