"""Facts of one compiled graph below Dynamo: frozen, plain, and with where they come from.

Byte counts with symbols are :class:`Size`; ``str()`` prints the expression, ``.value`` is the number if it is
static, ``.at(hints)`` the number for given sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from compilescope.model.inductor.sizes import Size, size
from compilescope.model.inductor.tensors import Tensor

GraphKey = tuple[int, int, int, int]  # compiled autograd (-1: none), epoch, frame, recompile


@dataclass(frozen=True, slots=True, order=True)
class SourceLine:
    """A user's line as torch printed it. ``function`` and ``code`` may be empty."""

    file: str
    line: int
    function: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class FxNode:
    """An FX node behind a kernel: its name in the graph and its ATen op.

    ``original``: the operator it was before decompositions, where the recording says.
    """

    name: str
    op: str
    original: str | None = None
    line: SourceLine | None = None


@dataclass(frozen=True, slots=True)
class Decomposition:
    """An operator that is gone and the nodes in its place. ``exact``: each node names its origin."""

    op: str
    became: Mapping[str, int]
    lines: tuple[SourceLine, ...]
    exact: bool


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument of a launch. ``role``: in | out | inout | size."""

    name: str
    role: str
    tensor: Tensor | None


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch per call of the graph, in order. ``function``: ``call``, ``partition_0``, a branch."""

    kernel: str
    kind: str
    function: str
    operands: tuple[Operand, ...]
    sources: tuple[str, ...]  # names of nodes in Dynamo's graph
    aten: tuple[str, ...]
    lines: tuple[SourceLine, ...]
    bytes_moved: Size | None
    text: str

    @property
    def shapes(self) -> tuple[Tensor, ...]:
        return tuple(o.tensor for o in self.operands if o.tensor is not None)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of a graph. Extern calls of the same function are one kernel launched several times.

    ``config``: what is fixed in the code (``BLOCK_M``, ``num_warps``); ``size_hints`` what Triton tunes for.
    """

    name: str
    kind: str
    library: str | None
    launches: int
    nodes: tuple[FxNode, ...]
    aten: tuple[str, ...]
    lines: tuple[SourceLine, ...]
    device: str | None
    dtypes: tuple[str, ...]
    shapes: tuple[Tensor, ...]  # operands of the first launch
    grid: str | None
    config: Mapping[str, str]
    size_hints: Mapping[str, str]
    template: str | None  # mm | bmm | addmm | convolution | flex_attention, for templates
    epilogue: tuple[str, ...]  # ops fused into a template
    bytes_moved: Size | None
    nodes_from: str | None  # scheduler | provenance | code | None: where nodes and lines come from


@dataclass(frozen=True, slots=True)
class FusedGroup:
    """Scheduler nodes that became one. ``vertical``: one reads what another writes (derived)."""

    nodes: tuple[str, ...]
    vertical: bool
    horizontal: bool
    ops: tuple[str, ...]
    bytes_before: int | None
    bytes_after: int | None


@dataclass(frozen=True, slots=True)
class Unfused:
    """Two kernels-to-be that stayed apart, with the reason Inductor stated last.

    ``linked``: one reads what the other writes. ``buffers``: what both touch; ``shared_bytes``: their size,
    which one kernel would move once less.
    """

    first: tuple[str, ...]  # names of the scheduler's nodes
    second: tuple[str, ...]
    first_ops: tuple[str, ...]
    second_ops: tuple[str, ...]
    reason: str
    linked: bool
    buffers: tuple[str, ...]
    lines: tuple[SourceLine, ...]
    shared_bytes: Size | None = None


@dataclass(frozen=True, slots=True)
class MissedEpilogue:
    """A GEMM or convolution, of a library or a template, whose result one pointwise kernel alone reads."""

    producer: str
    pointwise: str
    buffer: str
    tensor: Tensor | None
    lines: tuple[SourceLine, ...]

    @property
    def saved_bytes(self) -> Size | None:
        """What fusing would save: the result written once and read once less."""
        written = self.tensor.size_bytes if self.tensor else None
        return written * 2 if written is not None else None


@dataclass(frozen=True, slots=True)
class Fusion:
    """``bytes_*``: see :mod:`compilescope.model.inductor.fusion` for the formulas."""

    nodes_before: int | None
    nodes_after: int | None
    kernels: int
    groups: tuple[FusedGroup, ...]
    bytes_eager: Size | None
    bytes_before: Size | None
    bytes_after: Size | None
    bytes_from: str  # scheduler | code
    missed_epilogues: tuple[MissedEpilogue, ...]
    unfused: tuple[Unfused, ...] = ()
    unfused_reasons: Mapping[str, int] = field(default_factory=dict)  # every pair turned down, by reason
    unfused_missing: str | None = None  # why there is none of it


@dataclass(frozen=True, slots=True)
class Buffer:
    name: str
    tensor: Tensor | None
    size_bytes: Size | None
    written_by: str | None  # the kernel that fills it
    lines: tuple[SourceLine, ...]


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """See :mod:`compilescope.model.inductor.memory` for what is simulated and what is not in it."""

    allocations: int
    reuses: int
    frees: int
    allocated_bytes: Size
    reused_bytes: Size
    peak_bytes: Size
    end_bytes: Size  # alive when the call returns: outputs and saved activations
    peak_after: str | None  # the launch at which the peak is reached
    live_at_peak: tuple[Buffer, ...]
    unsized: tuple[str, ...]  # buffers the code does not give a size for
    hints: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SavedTensor:
    """What the forward keeps for the backward. ``kind``: activation | input | size | alias.

    ``alias``: a view of an input, of an output or of another saved tensor: no memory of its own.
    """

    name: str
    kind: str
    tensor: Tensor | None
    size_bytes: Size | None
    line: SourceLine | None
    base: str | None = None


@dataclass(frozen=True, slots=True)
class Mutation:
    """An input written in place. ``in_graph``: the graph writes it back itself, with ``copy_``."""

    input: str
    index: int | None
    in_graph: bool
    line: SourceLine | None


@dataclass(frozen=True, slots=True)
class Alias:
    """An output that shares memory with an input or an intermediate."""

    output: int
    kind: str  # torch's word: alias_of_input, is_input, alias_of_intermediate ...
    base: int | None


@dataclass(frozen=True, slots=True)
class AotGraphs:
    """AOTAutograd's facts of one compile. Op counts are ``call_function`` nodes without ``getitem``."""

    joint_ops: int | None
    forward_ops: int | None
    backward_ops: int | None
    inference_ops: int | None
    saved: tuple[SavedTensor, ...]
    saved_bytes: Size
    recomputed: tuple[FxNode, ...]
    recompute_saves_bytes: Size  # what keeping the recomputed values instead would take
    mutations: tuple[Mutation, ...]
    aliases: tuple[Alias, ...]
    donated: int | None
    op_counts: Mapping[str, int]  # ATen ops of forward or inference
    recomputable: tuple[str, ...] = ()  # saved activations that need not be: see .recompute
    recomputable_bytes: Size = field(default_factory=lambda: size(0))


@dataclass(frozen=True, slots=True)
class Choice:
    """A candidate. ``time_ms`` None: it failed, or the recording has the winner only."""

    name: str
    backend: str  # triton | extern | cpp | cutlass | other
    time_ms: float | None
    failed: bool
    config: str = ""
    why: str = ""  # torch's reason for a failure, where it could be told whose it is


@dataclass(frozen=True, slots=True)
class Autotuning:
    """One choice among implementations. Times are torch's own benchmark, in milliseconds."""

    op: str
    shapes: tuple[str, ...]
    dtypes: tuple[str, ...]
    strides: tuple[str, ...]
    hinted: tuple[str, ...]  # the shapes it was timed at, where ``shapes`` has symbols
    count: int
    choices: tuple[Choice, ...]  # fastest first, failed ones last
    tuning_s: float | None
    failures: tuple[str, ...] = ()  # torch's texts; they do not name the candidate
    node: str | None = None  # in the graph after the joint passes
    place: tuple[int, int, str] | None = None  # (file id, line, function) of the user's line
    backward: bool | None = None
    rung: tuple[str, int, str] | None = None  # of a bucketed backend: backend, captured graph, label
    compiled: int | None = None  # candidates that the process compiled itself, while it timed them
    compiled_s: float | None = None

    @property
    def default(self) -> Choice | None:
        """What runs without autotuning: the library's call of the same name, else its fastest one."""
        extern = [c for c in self.choices if c.backend == "extern"]
        named = (c for c in extern if c.name == self.op)
        return next(named, extern[0] if extern else None)

    @property
    def margin_over_default(self) -> float | None:
        """How many times longer the default takes than the winner: 1.0 where it is the winner."""
        default, winner = self.default, self.winner
        if default is None or winner is None or default.time_ms is None or not winner.time_ms:
            return None
        return default.time_ms / winner.time_ms

    @property
    def winner(self) -> Choice | None:
        return self.choices[0] if self.choices and self.choices[0].time_ms is not None else None

    def best(self, backend: str) -> Choice | None:
        timed = (c for c in self.choices if c.backend == backend and c.time_ms is not None)
        return next(timed, None)

    @property
    def margin(self) -> float | None:
        """How many times longer the next candidate takes: 1.0 is a draw. None with fewer than two timed."""
        timed = [c.time_ms for c in self.choices if c.time_ms is not None]
        return timed[1] / timed[0] if len(timed) > 1 and timed[0] > 0 else None


@dataclass(frozen=True, slots=True)
class TritonTuning:
    """Configurations of one Triton kernel, timed at its first launch."""

    kernel: str
    choices: tuple[Choice, ...]
    key: GraphKey | None = None
    count: int = 0  # with those that the recording does not list


@dataclass(frozen=True, slots=True)
class Component:
    """One part of a cache key. ``digest`` is torch's hash of it."""

    path: str
    digest: str
    text: str


@dataclass(frozen=True, slots=True)
class CacheOutcome:
    cache: str  # fx_graph | aot_autograd
    outcome: str  # hit | miss | bypass
    key: str | None
    detail: str | None
    bypass_reason: str | None
    saved_s: float | None
    took_s: float | None
    components: tuple[Component, ...] = ()
    triton_bundle: str | None = None  # torch's own text of what was bundled; None: bundling is off


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A component of the key that differs. ``before``/``after``: the part of the text that does."""

    path: str
    change: str  # changed | added | removed | digest: the values print alike
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Miss:
    """``nearest`` None: nothing to compare with. No ``changes``: the same key, so the entry was not there."""

    outcome: CacheOutcome
    nearest: CacheOutcome | None
    changes: tuple[KeyChange, ...]


@dataclass(frozen=True, slots=True)
class CudagraphSkip:
    reason: str
    count: int
    line: SourceLine | None


@dataclass(frozen=True, slots=True)
class CudagraphFunction:
    """Recordings of one compiled graph; after the first they are re-records, for the sizes in ``sizes``.

    ``mode``: forward | backward | inference. ``sizes``: the inputs' shapes and numbers, each once.
    """

    key: GraphKey | None
    mode: str | None
    recordings: int
    sizes: tuple[str, ...]
    warm_ups: int | None = None  # None: of a recording that does not count them
    pool_growth_bytes: int | None = None  # how much larger the pool was after its recordings


@dataclass(frozen=True, slots=True)
class Cudagraphs:
    enabled: bool
    disabled_reason: str | None
    skips: tuple[CudagraphSkip, ...]
    functions: tuple[CudagraphFunction, ...]
    recordings: int
    recording_s: float
    pool_bytes: int | None = None  # what the allocator held for graphs after the last recording
    warned_sizes: int | None = None  # torch's warning that a graph is recorded for so many sizes

    @property
    def limited(self) -> bool:
        """Some calls ran without a graph because of the limit of re-records."""
        return any("re-recording limit" in skip.reason for skip in self.skips)


@dataclass(frozen=True, slots=True)
class Crossing:
    """Something at the edge of what the compiler sees: a device copy, a collective, an opaque op."""

    kind: str  # device copy | device sync | collective | custom op
    detail: str
    size_bytes: Size | None
    blocking: bool | None
    lines: tuple[SourceLine, ...]
    pinned: bool | None = None  # of a device copy: memory of the host is page-locked
    before: str | None = None  # kernels launched on both sides: nothing fuses across
    after: str | None = None


@dataclass(frozen=True, slots=True)
class CompiledGraph:
    """What Inductor made of one graph. ``code`` is the file stem of the generated code."""

    key: GraphKey
    direction: str  # forward | backward | inference | unknown
    code: str | None
    serial: int | None  # of the ``fx_graph`` record: the counter of its runs
    cached: bool | None  # the code came from a cache: no scheduler facts
    kernels: tuple[Kernel, ...]
    launches: tuple[Launch, ...]
    fusion: Fusion
    memory: MemoryPlan | None
    crossings: tuple[Crossing, ...]
    inputs: Mapping[str, Tensor]
    hints: Mapping[str, int]
    missing: tuple[str, ...]  # what could not be told, in words
    decompositions: tuple[Decomposition, ...] = ()
