"""Rows of the report about a run as a whole: phases, sizes over time, buckets, CUDA graphs, cache misses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from compilescope.analysis.report_missing import Missing


@dataclass(frozen=True, slots=True)
class FramePhases:
    """Exclusive seconds by phase of one function's compiles."""

    function: str
    file: str
    line: int
    process: str
    forward: dict[str, float]
    backward: dict[str, float]
    compile_s: float


@dataclass(frozen=True, slots=True)
class OpenPhase:
    """What a thread was in when its process was killed, outermost first."""

    process: str
    thread: str | None
    stack: list[str]
    open_s: float | None  # of the innermost one
    compile_id: str | None = None


@dataclass(frozen=True, slots=True)
class Phases:
    """Exclusive seconds: a phase without the phases inside it, so that they add up to the compile wall.

    ``parallel`` is work of other threads, such as C++ compilers, while a compiling thread waits; ``outside``
    what compiling threads did for no compile that torch names.
    """

    forward: dict[str, float] = field(default_factory=dict)
    backward: dict[str, float] = field(default_factory=dict)
    parallel: dict[str, float] = field(default_factory=dict)
    sum_s: float | None = None  # of forward and backward
    wall_s: float | None = None  # of the same compiles, by torch's own start and end
    frames: list[FramePhases] = field(default_factory=list)
    open: list[OpenPhase] = field(default_factory=list)
    outside: dict[str, float] = field(default_factory=dict)
    missing: list[Missing] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SizeRow:
    """Calls with one tuple of sizes. ``basis``: static (a constant of the graph) or counted."""

    values: dict[str, int]
    count: int
    basis: str


@dataclass(frozen=True, slots=True)
class SizeStep:
    """Calls between two counter snapshots, by sizes joined with ``x`` (``16x4``).

    A key that is no such sizes stands for calls of which only the number is known.
    """

    time: str | None  # ISO 8601, UTC
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class CallTime:
    """Calls that were timed, one in so many. ``artifact``: static (of just these sizes) or dynamic."""

    values: dict[str, int]
    artifact: str
    timed: int
    median_us: float
    padded_to: dict[str, int] | None = None  # sizes that the static artifact computed, where it was padded


@dataclass(frozen=True, slots=True)
class FrameSizes:
    """The sizes one function was called with, joined over all its cache entries."""

    function: str
    file: str
    line: int
    process: str
    names: list[str]  # "x.size(0)"
    rows: list[SizeRow]
    rows_count: int
    seen_calls: int
    unseen_calls: int | None  # eager calls, and values beyond the cap of those kept
    unseen_share: float | None
    steps: list[SizeStep] = field(default_factory=list)
    compile_id: str = ""  # the first of its compiles
    times: list[CallTime] = field(default_factory=list)
    more: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BucketSize:
    """How often calls of these sizes were served by a rung; None: sizes beyond those counted one by one."""

    values: dict[str, int] | None
    count: int


@dataclass(frozen=True, slots=True)
class RungCode:
    """What Inductor made of one rung: one row for its forward or inference graph, one for its backward.

    Bytes are those of one call at the rung's sizes; of a range at the sizes it was compiled with.
    """

    direction: str
    kernels: dict[str, int]  # launches per call by family
    kernel_count: int
    nodes_before: int | None
    nodes_after: int | None
    bytes_moved: int | None
    peak_bytes: int | None
    missed_epilogues: int
    code: str | None
    cached: bool | None  # the code came from a cache


@dataclass(frozen=True, slots=True)
class Bucket:
    """One rung of a bucket ladder for one captured graph."""

    graph: str | None  # compile id of the captured graph
    dims: dict[str, Any]  # size by symbol; a range is [low, high]
    kind: str  # pin | pad | range | dynamic | eager
    concretized: dict[str, list[Any]] = field(default_factory=dict)
    compile_s: float | None = None
    hits: int | None = None
    padded_rows: int | None = None
    padded_share: float | None = None  # of the rows it computed; estimates the share of its device time
    copied_bytes: int | None = None  # to pad and to cut, over all calls
    verified: float | None = None  # largest relative difference to the unpadded graph
    random: list[str] = field(default_factory=list)  # operations that draw others than unpadded
    cuda_graphs: int | None = None  # times it was recorded as one
    cuda_graph_skip: str | None = None  # why it is none, or none any more
    replay_bytes: int | None = None  # copied into static buffers by a replay
    pool_bytes: int | None = None  # held by all of the backend's graphs when it was recorded
    graphs_each: int | None = None  # CUDA graphs that one recording is: several where pieces have their own
    refused: str | None = None
    elsewhere: bool = False  # refused here; another graph of the function, in the same state, has the rung
    failed: str | None = None
    bypassed: str | None = None  # why the graph has no rungs at all
    cache: str | None = None
    kernels: int | None = None
    sizes: list[BucketSize] = field(default_factory=list)
    rung: str = ""
    backend: str = ""
    entry: int = 0
    guard: str | None = None  # that forbids a refused rung
    user_line: str | None = None
    predicate: list[str] = field(default_factory=list)
    same_code_as: str | None = None
    split_from: str | None = None
    made: list[RungCode] = field(default_factory=list)
    live: bool = True  # False: dropped by a reset; its counts stay
    state: str | None = None  # in which the graph was captured: gradients, autocast
    file: str | None = None
    line: int | None = None
    function: str | None = None
    process: str = ""


@dataclass(frozen=True, slots=True)
class CudagraphSkip:
    """Why CUDA graphs were asked for and not used."""

    reason: str
    count: int
    file: str | None
    line: int | None
    function: str | None = None


@dataclass(frozen=True, slots=True)
class CudagraphFunction:
    """Recordings of one compiled graph; each after the first is a re-record, for the sizes listed."""

    compile_id: str | None
    function: str | None
    file: str | None
    line: int | None
    mode: str | None  # forward | backward | inference
    recordings: int
    sizes: list[str]
    warm_ups: int | None = None  # runs before a recording, without a graph
    replays: int | None = None  # calls of the compiled graph that were neither
    pool_growth_bytes: int | None = None  # how much larger the pool was after its recordings
    missing: list[Missing] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Cudagraphs:
    """CUDA graphs of one process."""

    process: str
    enabled: bool
    disabled_reason: str | None
    recordings: int
    recording_s: float | None
    skips: list[CudagraphSkip] = field(default_factory=list)
    functions: list[CudagraphFunction] = field(default_factory=list)
    pool_bytes: int | None = None  # memory held for graphs after the last recording
    warned_sizes: int | None = None  # torch warned that a graph is recorded for so many sizes
    missing: list[Missing] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DeviceTwin:
    """A graph compiled again although only the number of a device differs from an earlier one's inputs."""

    function: str
    file: str
    line: int
    process: str
    compile_id: str
    same_as: str  # compile id of the earlier graph
    device_before: str
    device_after: str
    compile_s: float | None


@dataclass(frozen=True, slots=True)
class CompiledAutograd:
    """Backward passes that compiled autograd captured, and why it captured again."""

    process: str
    captures: int
    compile_ids: list[str]
    reasons: list[str]
    more: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A part of a cache key that differs from the nearest entry's."""

    path: str
    change: str  # changed | added | removed | digest
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class CacheMiss:
    """A look-up that missed. No ``changes`` with an entry compared: the same key, the entry was gone."""

    cache: str
    compile_id: str | None
    function: str | None
    file: str | None
    line: int | None
    process: str
    key: str | None
    compared_with: str | None  # key of the nearest entry of this recording
    changes: list[KeyChange] = field(default_factory=list)
    more: dict[str, int] = field(default_factory=dict)
