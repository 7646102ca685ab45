"""Frozen facts of one recorded run, as torch and the capture hooks stated them. Nothing here interprets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from compilescope.model.detail import BucketEvent, Detail, Dispatch


class CompileId(NamedTuple):
    """Torch's ``frame/recompile`` plus the epoch, because ``torch._dynamo.reset()`` restarts the numbers."""

    epoch: int
    frame: int
    recompile: int
    autograd: int = -1  # compiled-autograd id, -1 when there is none (an int keeps ids sortable)

    def __str__(self) -> str:
        text = f"{self.frame}/{self.recompile}"
        return f"!{self.autograd}/{text}" if self.autograd >= 0 else text


class Location(NamedTuple):
    """One line of source and the function it is in. ``file`` is the path as Python knew it."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Compile:
    """One attempt chain of one frame: restarts are folded in. ``code`` is where the function starts."""

    id: CompileId
    code: Location | None
    started: bool  # torch said dynamo_start; a refused compile never starts
    stack: tuple[Location, ...]  # torch's own user stack, outermost first
    call: tuple[Location, ...]  # Python frames of user code, innermost first
    thread: str | None  # name of the thread that compiled
    start_ns: int | None
    end_ns: int | None
    wall_s: float | None  # Dynamo and the forward backend
    backward_s: float  # the backward, compiled later
    ops: int | None
    guard_count: int | None
    has_code: bool | None  # None: the compile never ended
    fail_type: str | None
    fail_reason: str | None
    fail_location: Location | None
    error_text: str | None  # torch's traceback of a failed compile; ends with the user's lines
    cache_size: int | None  # entries the code object had when this compile began
    reasons: tuple[str, ...]  # torch's recompile reasons, most recently used entry first
    phases_s: Mapping[str, float]
    guard_latency_us: float | None = None  # torch's own: it flushes the processor's caches first

    @property
    def refused(self) -> bool:
        if self.fail_type == "FailOnRecompileLimitHit":  # the same under fullgraph=True, where it is an error
            return True
        return bool(self.fail_reason and "recompile limit exceeded" in self.fail_reason)

    @property
    def compiled(self) -> bool:
        return bool(self.started and self.has_code)

    @property
    def earlier(self) -> bool:
        """Made before capture began: only its place and its calls since are known."""
        return not self.started and self.has_code is None


@dataclass(frozen=True, slots=True)
class Placeholder:
    name: str
    kind: str
    source: str | None
    dtype: str | None
    shape: tuple[Any, ...] | None
    stride: tuple[Any, ...] | None
    device: str | None
    expr: str | None
    hint: Any
    range: str | None


@dataclass(frozen=True, slots=True)
class Graph:
    """One graph handed to a backend. ``calls`` is None when no counter ran."""

    serial: int | None
    compile: CompileId
    backend: str | None
    ops: int | None
    ends_at: Location | None  # the break the graph ends at
    ends_at_break: bool
    placeholders: tuple[Placeholder, ...]
    size_names: tuple[str, ...]
    calls: int | None
    sizes: tuple[tuple[tuple[int, ...] | None, int], ...] | None  # None key: beyond the cap of kept sizes
    inherited: bool = False  # made before capture began, or by the parent of a fork; the calls are own
    symbols: Mapping[str, Any] = field(default_factory=dict)  # {symbol: {sources, range}}
    uncounted: str | None = None  # why its calls are not counted


@dataclass(frozen=True, slots=True)
class BreakEvent:
    compile: CompileId | None
    text: str
    time_ns: int | None
    thread: int | None


@dataclass(frozen=True, slots=True)
class Guard:
    """A leaf guard that failed when it was checked again at capture time.

    ``got`` tells the new value: ``t`` its type and ``v`` the value, for containers ``len`` and ``keys``,
    for functions ``name``. Empty when the value could not be read.
    """

    kind: str
    source: str | None
    code: tuple[str, ...]
    got: Mapping[str, Any]
    old: Any = None
    at: tuple[Location, ...] = ()  # user frames that made the guard, innermost first
    operands: Mapping[str, Any] = field(default_factory=dict)  # of a relation: source -> as ``got``


@dataclass(frozen=True, slots=True)
class GuardFailure:
    """One cache entry that did not fit the call that made torch compile ``compile``."""

    compile: CompileId
    entry: str
    newest: bool
    first: str | None
    guards: tuple[Guard, ...]
    unchecked: Mapping[str, int]
    state: Mapping[str, Any]  # thread-wide modes now
    before: Mapping[str, Any]  # and when the entry was compiled
    thread: int | None


@dataclass(frozen=True, slots=True)
class CompileTarget:
    """What a program asked to be compiled, and where. ``disabled``: torch.compile was switched off."""

    target: str
    name: str | None
    location: Location | None
    call: tuple[Location, ...]
    disabled: bool


@dataclass(frozen=True, slots=True)
class Limit:
    """The first time torch refused to compile a code object again."""

    code_serial: int | None
    code: Location
    limit: int | None
    kind: str | None
    compile: CompileId | None


@dataclass(frozen=True, slots=True)
class Conversion:
    """One frame Dynamo looked at, and what came of it."""

    code: Location
    code_serial: int | None
    outcome: str  # compiled | skipped | limit | failed | suppressed | earlier
    reason: str | None
    exception: str | None
    wall_s: float | None
    call: tuple[Location, ...]
    compile: CompileId | None
    arguments: frozenset[str] | None = None  # names of the parameters, None where capture did not say


@dataclass(frozen=True, slots=True)
class CacheEvent:
    cache: str  # fx_graph | aot_autograd
    outcome: str  # hit | miss | bypass
    compile: CompileId | None


@dataclass(frozen=True, slots=True)
class PgoLookup:
    """Dynamo looked for a profile of an earlier run. ``frames``: how many the profile found is about."""

    outcome: str  # hit | miss | bypass
    reason: str | None
    key: str | None
    frames: int | None
    took_s: float | None


@dataclass(frozen=True, slots=True)
class Specialized:
    compile: CompileId | None
    source: str
    value: str
    reason: str | None
    location: Location | None


@dataclass(frozen=True, slots=True)
class LogLine:
    logger: str
    level: str
    text: str


@dataclass(frozen=True, slots=True)
class Hole:
    """Bytes of a recording that could not be understood."""

    kind: str
    where: str
    detail: str


@dataclass(frozen=True, slots=True)
class CompiledTwice:
    """Candidates of one autotuned operation that the process compiled anew, with another ``ptxas``."""

    compile: CompileId | None
    op: str
    candidates: int
    seconds: float
    assemblers: tuple[str, str]  # CUDA releases: of the compile workers' ptxas, of the process's


@dataclass(frozen=True, slots=True)
class WarmUp:
    """When a bucketed model called itself. The counters of its graphs are without those calls."""

    backend: str
    begin_ns: int | None
    end_ns: int | None  # None: the process ended within it
    thread: str | None


@dataclass(frozen=True, slots=True)
class Process:
    id: str
    kind: str  # recording | torch_trace
    pid: int | None
    ppid: int | None
    rank: int | None
    world_size: int | None
    device: str | None
    versions: Mapping[str, str]
    argv: tuple[str, ...]
    cwd: str | None
    env: tuple[str, ...]
    config: Mapping[str, Any]
    hooks: Mapping[str, str]
    late: bool
    complete: bool
    ended: str | None
    start_ns: int | None
    last_ns: int | None
    counts_ns: int | None  # time of the last snapshot of the counters
    compiles: Mapping[CompileId, Compile]
    backward_spans: tuple[tuple[int, int], ...]  # (start, end) of backward compiles, unix ns
    module_sources: Mapping[tuple[int, int], frozenset[str]]  # (epoch, frame id) -> sources of nn.Modules
    graphs: tuple[Graph, ...]
    breaks: tuple[BreakEvent, ...]
    guard_failures: tuple[GuardFailure, ...]
    limits: tuple[Limit, ...]
    conversions: tuple[Conversion, ...]
    caches: tuple[CacheEvent, ...]
    specialized: tuple[Specialized, ...]
    autograd_graphs: tuple[int, ...]
    eager_calls: Mapping[int, int]  # code serial -> guard misses after the limit
    stances: tuple[str, ...]
    compile_calls: int
    targets: tuple[CompileTarget, ...]
    logs: tuple[LogLine, ...]
    lost: Mapping[str, int]
    sources: Mapping[str, str]
    unknown: Mapping[str, int]
    holes: tuple[Hole, ...]
    bucket_events: tuple[BucketEvent, ...] = ()
    dispatches: tuple[Dispatch, ...] = ()
    warm_ups: tuple[WarmUp, ...] = ()
    detail: Detail | None = None  # None: it was not asked for
    compiled_twice: tuple[CompiledTwice, ...] = ()
    pgo: tuple[PgoLookup, ...] = ()
    remote_caches: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # cache -> outcome -> times
    unread: Mapping[str, tuple[int, int]] = field(
        default_factory=dict
    )  # what -> (how many read, how many not)


@dataclass(frozen=True, slots=True)
class Run:
    path: str
    size_bytes: int | None
    launch: Mapping[str, Any]  # what the parent noted; empty when there was no parent
    processes: tuple[Process, ...]
    holes: tuple[Hole, ...] = field(default=())
