"""Rows of the report about one graph: its symbols and guards, and what AOTAutograd and Inductor made of it.

Byte counts are numbers at the sizes the graph was compiled for; where they have symbols, the field of the
same name ending in ``_expr`` has the expression. A list that is cut is named in ``more``, with the number of
its entries that are not there.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the user's code behind a kernel, a guard or a tensor."""

    file: str
    line: int
    function: str | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True)
class GuardRow:
    """What one guarded expression is checked for, and the user's line that made torch rely on it."""

    source: str
    kinds: list[str]
    origin: str | None  # where the value lives, in torch's word: LOCAL, GLOBAL, LOCAL_UNSPECIALIZED_NN_MODULE
    at: SourceLine | None
    called_from: list[str] = field(default_factory=list)  # "train.py:22 main", of ``at``, innermost first


@dataclass(frozen=True, slots=True)
class Guards:
    """What is checked before every call of this graph."""

    count: int | None
    by_kind: dict[str, int] = field(default_factory=dict)
    hot_check_us: float | None = None  # one pass with warm caches
    cold_check_us: float | None = None  # torch's own figure: the processor's caches are flushed first
    rows: list[GuardRow] = field(default_factory=list)
    listed: bool = False  # the recording has the list, so ``rows`` can be filled
    rows_count: int | None = None  # ``rows`` are the first of these; None where the list was not read
    more: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Symbol:
    """A size or number that stays free in a graph. Several sources were equal when traced: tied together."""

    symbol: str
    sources: list[str]
    range: str | None
    hint: int | float | None
    created_at: SourceLine | None = None
    backed: bool = True  # False: its value is data, such as the result of .item(); it has no hint


@dataclass(frozen=True, slots=True)
class SymbolGuard:
    """A condition on symbols that the trace relied on: ``s77 > 5``."""

    expr: str
    at: SourceLine | None


@dataclass(frozen=True, slots=True)
class Choice:
    """A candidate implementation. No time: it failed, or only the winner was recorded."""

    name: str
    backend: str  # triton | extern | cpp | cutlass | other
    time_ms: float | None
    failed: bool
    config: str | None = None
    why: str | None = None  # torch's reason for a failure


@dataclass(frozen=True, slots=True)
class KernelNode:
    """A node of the graph that went into a kernel: its operator, the one it was before, the user's line."""

    name: str
    op: str
    original: str = ""  # empty where the recording does not name it
    line: SourceLine | None = None


@dataclass(frozen=True, slots=True)
class KernelRow:
    """One kernel of a graph; ``launches`` per call of the graph."""

    name: str
    kind: str
    library: str | None
    launches: int
    ops: list[str]
    lines: list[SourceLine]
    device: str | None
    dtypes: list[str]
    shapes: list[str]
    grid: str | None
    config: dict[str, str]
    template: str | None
    epilogue: list[str]
    bytes_moved: int | None
    bytes_moved_expr: str | None = None
    nodes: list[KernelNode] = field(default_factory=list)
    nodes_count: int = 0
    tuned: list[Choice] = field(
        default_factory=list
    )  # configurations timed at the first launch, fastest first
    tuned_count: int = 0
    more: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FusedGroup:
    """Nodes that became one kernel. Vertical and horizontal are derived from who reads what."""

    ops: list[str]
    vertical: bool
    horizontal: bool
    bytes_before: int | None
    bytes_after: int | None


@dataclass(frozen=True, slots=True)
class MissedEpilogue:
    """A GEMM or convolution whose result one pointwise kernel alone reads: it could have been one kernel."""

    producer: str
    pointwise: str
    saved_bytes: int | None
    lines: list[SourceLine]


@dataclass(frozen=True, slots=True)
class Unfused:
    """Two groups of operations that stayed apart, and why: the reason Inductor stated last.

    ``linked``: the second reads what the first writes; otherwise both read the same ``buffers``.
    """

    first: list[str]  # operators
    second: list[str]
    reason: str
    linked: bool
    buffers: list[str]
    lines: list[SourceLine]
    shared_bytes: int | None = None  # of those buffers: one kernel would move them once less


@dataclass(frozen=True, slots=True)
class Fusion:
    """Nodes before and after fusion, and bytes of global memory moved in one call."""

    nodes_before: int | None
    nodes_after: int | None
    kernels: int
    bytes_eager: int | None  # every op alone
    bytes_before: int | None
    bytes_after: int | None
    basis: str  # "scheduler", or "code": derived from the operands of the generated code
    groups: list[FusedGroup] = field(default_factory=list)
    groups_count: int = 0
    missed_epilogues: list[MissedEpilogue] = field(default_factory=list)
    bytes_after_expr: str | None = None
    unfused: list[Unfused] = field(default_factory=list)
    unfused_count: int = 0
    unfused_reasons: dict[str, int] = field(default_factory=dict)  # every pair turned down, by reason
    unfused_missing: str | None = None  # why none is known
    more: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Buffer:
    """An intermediate tensor and the kernel that fills it."""

    name: str
    shape: str | None
    size_bytes: int | None
    written_by: str | None
    lines: list[SourceLine]


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory plan, simulated from the generated code; a graph's inputs are not in it."""

    allocations: int
    reuses: int
    frees: int
    allocated_bytes: int | None
    reused_bytes: int | None
    peak_bytes: int | None
    end_bytes: int | None  # alive when the call returns: outputs and saved activations
    peak_after: str | None
    live_at_peak: list[Buffer] = field(default_factory=list)
    live_count: int = 0
    peak_bytes_expr: str | None = None
    unsized: list[str] = field(default_factory=list)
    more: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SavedTensor:
    """What the forward keeps for the backward: an activation, an input, a size, or an alias of those."""

    name: str
    kind: str
    shape: str | None
    size_bytes: int | None
    line: SourceLine | None


@dataclass(frozen=True, slots=True)
class Mutation:
    """An input written in place, and whether the graph itself writes it back."""

    input: str
    in_graph: bool
    line: SourceLine | None


@dataclass(frozen=True, slots=True)
class Aot:
    """What AOTAutograd made of the graph. Op counts are calls of operators."""

    joint_ops: int | None
    forward_ops: int | None
    backward_ops: int | None
    inference_ops: int | None
    saved_bytes: int | None
    saved_bytes_expr: str | None
    saved_count: int  # activations: memory of their own
    saved: list[SavedTensor]
    recomputed_count: int
    recomputed: list[str]
    recompute_saves_bytes: int | None
    mutations: list[Mutation]
    aliases: list[str]
    donated: int | None
    op_counts: dict[str, int]
    recomputable: list[str] = field(default_factory=list)  # saved, and to be had without a GEMM or the like
    recomputable_count: int = 0
    recomputable_bytes: int | None = None
    more: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decomposition:
    """An operator that is gone and the nodes in its place, by operator.

    ``exact``: each node says where it came from; else they share a kernel.
    """

    op: str
    became: dict[str, int]
    lines: list[SourceLine]
    exact: bool


@dataclass(frozen=True, slots=True)
class Autotuning:
    """One choice among implementations of an operation, fastest first."""

    op: str
    shapes: list[str]
    dtypes: list[str]
    strides: list[str]
    hinted: list[str]  # the shapes it was timed at, where ``shapes`` has symbols
    winner: str | None
    winner_backend: str | None
    margin: float | None  # how many times longer the next one takes: 1.0 is a draw
    choices: list[Choice]
    choices_count: int
    count: int
    tuning_s: float | None = None
    failures: list[str] = field(default_factory=list)
    node: str | None = None  # in the graph after the joint passes
    line: SourceLine | None = None
    backward: bool | None = None
    default: str | None = None  # the library call that runs without autotuning
    default_ms: float | None = None
    margin_over_default: float | None = None  # how many times longer it takes than the winner
    emitted: str | None = None  # backend of the kernel in the code, which can differ from the winner's
    failed_count: int = 0
    rung: str | None = None  # of a bucket ladder
    compiled: int | None = None  # candidates that the process compiled itself, while it timed them
    compiled_s: float | None = None
    more: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CacheOutcome:
    """One look-up of a compile cache."""

    cache: str  # fx_graph | aot_autograd | triton_bundle
    outcome: str  # hit | miss | bypass
    key: str | None
    reason: str | None  # of a bypass, else torch's detail
    saved_s: float | None = None
    took_s: float | None = None


@dataclass(frozen=True, slots=True)
class Crossing:
    """Something at the edge of what the compiler sees: a device copy, a sync, a collective, an opaque op."""

    kind: str
    detail: str
    size_bytes: int | None
    blocking: bool | None
    lines: list[SourceLine]
    before: str | None = None  # kernels launched on both sides: nothing fuses across
    after: str | None = None
    pinned: bool | None = None  # of a device copy: memory of the host is page-locked
