"""Rows of the report about planned bucket ladders: the ladder, what it is worth, and three series to draw."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LadderBar:
    """Calls with sizes ``low..high``, both included, and the static rungs among these sizes."""

    low: int
    high: int
    calls: int
    rungs: list[int]


@dataclass(frozen=True, slots=True)
class LadderHistogram:
    symbol: str
    bars: list[LadderBar]


@dataclass(frozen=True, slots=True)
class LadderCost:
    """Cost of one call at one size: a measurement with its interval, or a point of the curve assumed."""

    size: int
    cost: float
    low: float
    high: float
    artifact: str  # static | dynamic
    measured: bool


@dataclass(frozen=True, slots=True)
class LadderCount:
    """The best ladder of one number of rungs: cost of a call, and with the price of its rungs."""

    rungs: int
    cost: float
    total: float
    chosen: bool


@dataclass(frozen=True, slots=True)
class LadderRange:
    low: int
    high: int
    hint: int


@dataclass(frozen=True, slots=True)
class LadderRival:
    """Another ladder on the later half. ``saving`` is what the planned one saves of its cost, 0 to 1."""

    name: str
    rungs: int
    cost: float
    padding: float
    compile_s: float | None
    saving: float
    saving_low: float
    saving_high: float


@dataclass(frozen=True, slots=True)
class LadderDrift:
    """The halves of the traffic differ: medians of one symbol before and after."""

    symbol: str
    early_median: int
    late_median: int


@dataclass(frozen=True, slots=True)
class Ladder:
    """What the planner recommends for one function's sizes, planned on the earlier half of its calls.

    ``cost``, ``excess``, ``padding`` and ``rivals`` are of the later half. ``unit`` is us, or elements where
    nothing was measured; ``pays`` is None where the cost of a dynamic artifact is not known.
    """

    function: str
    file: str
    line: int
    symbols: list[str]
    calls: int
    ordered: bool
    unseen_share: float | None
    code: str
    pins: list[int]
    pads: list[int]
    ranges: list[LadderRange]
    products: dict[str, list[int]]  # of two symbols: pads of each
    unit: str
    basis: str  # measured | fitted | assumed
    method: str  # exact | lagrangian | local search
    rungs: int
    cost: float
    excess: float  # above one artifact a size
    padding: float
    compile_s: float | None
    pays: bool | None
    pays_from_calls: float | None
    combinations: list[list[int]] = field(default_factory=list)  # of two symbols: what is padded up to
    drift: list[LadderDrift] = field(default_factory=list)
    histograms: list[LadderHistogram] = field(default_factory=list)
    curve: list[LadderCost] = field(default_factory=list)
    by_count: list[LadderCount] = field(default_factory=list)
    rivals: list[LadderRival] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
