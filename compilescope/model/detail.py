"""What a recording knows beyond frames, breaks and recompiles. Texts are references, read when asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from compilescope.model.inductor import InductorFacts
from compilescope.model.values import CompileId, Location


@dataclass(frozen=True, slots=True)
class SymbolMade:
    """A size torch made a symbol of, and the line that needed it. ``backed``: it had a value when traced."""

    compile: CompileId
    symbol: str
    source: str | None
    hint: int | float | None
    range: str | None
    at: Location | None
    backed: bool


@dataclass(frozen=True, slots=True)
class SymbolCondition:
    """A relation on symbols that the trace relied on."""

    compile: CompileId
    expr: str
    at: Location | None


@dataclass(frozen=True, slots=True)
class GuardEntry:
    """One row of a guard list: the guarded source, what is checked, torch's word for where it lives."""

    source: str
    kinds: tuple[str, ...]
    origin: str | None
    at: Location | None
    callers: tuple[Location, ...] = ()  # of ``at``, innermost first


@dataclass(frozen=True, slots=True)
class GuardList:
    """``read`` parses the list. ``hot_check_us``: one pass with warm caches."""

    count: int | None
    hot_check_us: float | None
    read: Callable[[], tuple[GuardEntry, ...]]


@dataclass(frozen=True, slots=True)
class PhaseSum:
    """Exclusive seconds of one phase in one compile; ``compile`` None where torch names none."""

    compile: CompileId | None
    name: str
    backward: bool
    parallel: bool  # on a thread that compiles nothing itself
    exclusive_s: float


@dataclass(frozen=True, slots=True)
class OpenStack:
    """What a thread was in at the last look, ``(phase, start in unix us)`` outermost first."""

    thread: str | None
    stack: tuple[tuple[str, int], ...]
    seen_ns: int | None
    compile: CompileId | None


@dataclass(frozen=True, slots=True)
class SizeSnapshot:
    """Cumulative calls of one graph by size tuple, as of ``time_ns``.

    A graph without size inputs has one key, the empty string.
    """

    time_ns: int | None
    serial: int
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Pace:
    """``points``: by serial of a graph ``(unix ns, calls so far)`` in order; ``steps``: ``(began in unix ns,
    length in us)`` of the steps the program told of. ``at_compiles``: the counters were read at compiles too.
    """

    points: Mapping[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    at_compiles: bool = False
    steps: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class BucketEvent:
    """An event of a bucketed backend, fields as in :mod:`compilescope.observer`."""

    event: str
    compile: CompileId | None
    fields: Mapping[str, Any]
    time_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Calls served so far. ``sizes`` None: more distinct sizes than are counted one by one."""

    backend: str
    entry: int
    rung: str
    outcome: str
    names: tuple[str, ...]
    sizes: tuple[int, ...] | None
    count: int


@dataclass(frozen=True, slots=True)
class Detail:
    symbols: tuple[SymbolMade, ...] = ()
    conditions: tuple[SymbolCondition, ...] = ()
    guards: Mapping[CompileId, GuardList] = field(default_factory=dict)
    phases: tuple[PhaseSum, ...] = ()
    roots_s: float = 0.0  # duration of the outermost phases of compiles
    open: tuple[OpenStack, ...] = ()
    snapshots: tuple[SizeSnapshot, ...] = ()
    # serial of the graph -> size tuple as in a snapshot -> (calls timed, median in us)
    call_times: Mapping[int, Mapping[str, tuple[int, float]]] = field(default_factory=dict)
    inductor: InductorFacts | None = None
    inductor_calls: Mapping[int, int] = field(
        default_factory=dict
    )  # serial of the `fx_graph` record -> calls
    autograd_reasons: tuple[str, ...] = ()
    files: Callable[[int | None], str | None] = lambda _: None
    pace: Pace = field(default_factory=Pace)
