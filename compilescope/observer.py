"""The protocol a bucketed backend reports to: compiles as events, dispatches as counters.

A backend (ours, an adapter for somebody else's, a user's own) subclasses nothing: it has ``name``,
``events()`` and ``dispatch_counts()``, announces itself once with :func:`announce`, and calls :func:`emit`
at compile time.
Whoever wants to know registers an observer, early or late: events that happened before are replayed to it.

A request never calls an observer. The backend increments a counter of its own, and an observer reads
:func:`dispatch_snapshot` when it likes: the counts are cumulative, so a missed snapshot loses nothing.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = [
    "BackendReset",
    "BucketBackend",
    "DispatchCount",
    "EntryCaptured",
    "Event",
    "GraphRecorded",
    "GraphSkipped",
    "InputLayout",
    "Observer",
    "RungCompiled",
    "RungFailed",
    "RungRefused",
    "RungVerified",
    "SymbolFact",
    "WarmUpBegan",
    "WarmUpEnded",
    "announce",
    "backends",
    "dispatch_snapshot",
    "emit",
    "register",
    "unregister",
]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SymbolFact:
    """A symbol of a captured graph. ``name`` is the user's ('tokens'), None where it has no ladder."""

    symbol: str
    name: str | None
    sources: tuple[str, ...]
    hint: int | None
    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class InputLayout:
    """A graph input as the compiler saw it. Sizes are ints, or text where a symbol is left ('2*s0')."""

    name: str
    shape: tuple[int | str, ...]
    stride: tuple[int | str, ...]
    storage_offset: int | str
    dtype: str
    device: str
    requires_grad: bool


@dataclass(frozen=True, slots=True)
class EntryCaptured:
    """Dynamo handed the backend a graph. ``bypassed`` says why it has no rungs, None when it has."""

    backend: str
    entry: int
    compile_id: str | None
    location: str | None
    grad_enabled: bool
    state: str
    symbols: tuple[SymbolFact, ...]
    bypassed: str | None


@dataclass(frozen=True, slots=True)
class RungCompiled:
    """An artifact exists. ``kind`` is 'pin', 'pad', 'range' or 'dynamic'.

    ``sizes`` gives each bucketed name its low and high size, both included (equal for a pin). ``cache`` is
    'hit', 'miss', 'bypass' or 'none' (a compiler without a cache). ``kernels`` is None when not known.
    ``predicate`` is what must hold besides the sizes, as Python over the symbols. ``same_code_as`` is the
    label of an earlier rung with identical code, whose artifact this one shares. ``split_from`` is the label
    of the range this one is a part of: the compiler's own guards were narrower than what was asked for.

    A pad serves smaller sizes too. Each call that it pads copies ``copied_bytes``: terms of a factor and the
    names whose sizes in that call it is multiplied with; None where that is not known. ``random`` are
    operations that draw other numbers in it than in the unpadded graph.
    """

    backend: str
    entry: int
    rung: str
    kind: str
    sizes: tuple[tuple[str, int, int | None], ...]
    hints: tuple[tuple[str, int], ...]
    inputs: tuple[InputLayout, ...]
    wall_s: float
    cache: str
    kernels: int | None
    predicate: tuple[str, ...]
    same_code_as: str | None = None
    split_from: str | None = None
    copied_bytes: tuple[tuple[int, tuple[str, ...]], ...] | None = None
    random: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RungRefused:
    """A rung this entry cannot have. ``guard`` and ``user_line`` say which guard of the trace forbids it."""

    backend: str
    entry: int
    rung: str
    kind: str
    reason: str
    guard: str | None = None
    user_line: str | None = None


@dataclass(frozen=True, slots=True)
class RungFailed:
    """The compiler raised. The rung's sizes are served by the next step of the chain."""

    backend: str
    entry: int
    rung: str
    kind: str
    error: str
    wall_s: float


@dataclass(frozen=True, slots=True)
class RungVerified:
    """A padded call at ``sizes`` was compared with the unpadded graph: outputs, writes and gradients.

    ``difference`` is the largest one, relative to the largest entry of its tensor.
    """

    backend: str
    entry: int
    rung: str
    sizes: tuple[tuple[str, int], ...]
    difference: float


@dataclass(frozen=True, slots=True)
class GraphRecorded:
    """The rung's kernels were recorded as a CUDA graph, in ``wall_s`` seconds with its warm-up runs.

    A replay copies ``replay_bytes`` into static buffers; ``pool_bytes`` is what all recordings of the backend
    hold together by now. It is ``graphs`` CUDA graphs where each piece of a split graph has one. Of a rung
    that is trained the forward comes first, then, ``of_backward``, the other half.
    """

    backend: str
    entry: int
    rung: str
    wall_s: float
    replay_bytes: int
    pool_bytes: int
    graphs: int = 1
    of_backward: bool = False


@dataclass(frozen=True, slots=True)
class GraphSkipped:
    """The rung runs without a CUDA graph, and why."""

    backend: str
    entry: int
    rung: str
    reason: str


@dataclass(frozen=True, slots=True)
class BackendReset:
    """Dynamo's caches were dropped: entries before this one serve no more calls; their counts stay."""

    backend: str
    entries: int


@dataclass(frozen=True, slots=True)
class WarmUpBegan:
    """From here to :class:`WarmUpEnded` the calls that this thread makes of the model are the backend's own:
    they make it trace, or compare its rungs. None is counted as a dispatch. Neither is told again later.
    """

    backend: str


@dataclass(frozen=True, slots=True)
class WarmUpEnded:
    """The backend's own calls are over, or pause until it begins again."""

    backend: str


Event = (
    EntryCaptured
    | RungCompiled
    | RungVerified
    | RungRefused
    | RungFailed
    | GraphRecorded
    | GraphSkipped
    | BackendReset
    | WarmUpBegan
    | WarmUpEnded
)


@dataclass(frozen=True, slots=True)
class DispatchCount:
    """Calls since the process started. ``outcome`` is how a call was served.

    It is 'exact', 'padded', 'range', 'dynamic', 'eager' or 'bypassed'.

    ``sizes`` are the bucketed sizes in the order of ``names``; None where more distinct sizes were seen than
    are counted one by one.
    """

    backend: str
    entry: int
    rung: str
    outcome: str
    names: tuple[str, ...]
    sizes: tuple[int, ...] | None
    count: int


class BucketBackend(Protocol):
    """What :func:`announce` takes. Both methods may be called from any thread at any time."""

    @property
    def name(self) -> str: ...

    def events(self) -> Sequence[Event]: ...

    def dispatch_counts(self) -> Sequence[DispatchCount]: ...


Observer = Callable[[Event], None]

_lock = threading.RLock()
_observers: list[Observer] = []
_backends: list[weakref.ref[BucketBackend]] = []


def register(observer: Observer) -> None:
    """Call ``observer`` with each event from now on, and first with those that are past. Twice is once."""
    with _lock:
        if observer in _observers:
            return
        past = [event for backend in backends() for event in backend.events()]
        _observers.append(observer)
    for event in past:
        _deliver(observer, event)


def unregister(observer: Observer) -> None:
    """Stop calling ``observer``; nothing happens when it was not registered."""
    with _lock:
        if observer in _observers:
            _observers.remove(observer)


def announce(backend: BucketBackend) -> None:
    """Make ``backend``'s events and counters visible. It is held weakly."""
    with _lock:
        _backends[:] = [reference for reference in _backends if reference() is not None]
        _backends.append(weakref.ref(backend))


def backends() -> list[BucketBackend]:
    """The announced backends that are still alive, oldest first."""
    with _lock:
        return [backend for reference in _backends if (backend := reference()) is not None]


def emit(event: Event) -> None:
    """Tell every observer. An observer that raises is logged and never stops the compile.

    Without the lock: an observer may wait for a thread of its own that is reading the counters.
    """
    with _lock:
        observers = list(_observers)
    for observer in observers:
        _deliver(observer, event)


def dispatch_snapshot() -> list[DispatchCount]:
    """The cumulative dispatch counts of every backend that is alive."""
    return [count for backend in backends() for count in backend.dispatch_counts()]


def _deliver(observer: Observer, event: Event) -> None:
    try:
        observer(event)
    except Exception:
        _log.warning("observer %r failed on %s", observer, type(event).__name__, exc_info=True)
