"""Rows of the report about autotuned operations, size by size."""

from __future__ import annotations

from dataclasses import dataclass, field

from compilescope.analysis.report_graph import SourceLine
from compilescope.analysis.report_missing import Missing


@dataclass(frozen=True, slots=True)
class TunedUse:
    """Calls at sizes other than a choice was timed at. ``ratio``: the larger size over the smaller, >= 1."""

    sizes: dict[str, int]
    calls: int
    ratio: float | None


@dataclass(frozen=True, slots=True)
class TunedRow:
    """The choice for one size. Times are torch's own benchmark of the operation alone, in milliseconds.

    ``default``: the library call that runs without autotuning. ``emitted``: whose kernel the generated code
    launches (triton | extern | cpp | cutlass); it can differ from the winner, because fusing an epilogue is
    timed after the choice. ``calls_far`` counts calls at sizes at least ``FAR`` times larger or smaller
    than the timed one; ``slowdown`` is how many times longer this choice takes there than the best one,
    where the same operation was timed at such a size too.
    """

    label: str  # the numbers that differ between the rows of a site: "16"
    shapes: list[str]
    timed_at: list[str]
    compile_id: str
    winner: str | None
    winner_backend: str | None
    winner_ms: float | None
    second: str | None
    second_ms: float | None
    margin: float | None  # second_ms / winner_ms
    default: str | None
    default_ms: float | None
    margin_over_default: float | None  # default_ms / winner_ms
    emitted: str | None = None
    slower_than_default: bool | None = None  # the emitted one, where it is not the winner
    emitted_ms: float | None = None  # the best time of that backend
    winner_config: str | None = None  # of a Triton template: BLOCK_M=16 ...
    candidates: int = 0
    failed: int = 0
    failures: list[str] = field(default_factory=list)
    calls: int | None = None
    rung: str | None = None
    uses: list[TunedUse] = field(default_factory=list)
    uses_count: int = 0
    calls_far: int | None = None
    far_share: float | None = None
    slowdown: float | None = None
    slowdown_at: str | None = None
    missing: list[Missing] = field(default_factory=list)
    more: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TunedSite:
    """One GEMM, convolution or attention of a function, in every compile and every rung that tuned it.

    Equal ones of the same graph (the layers of a model) are one site with several ``nodes``.
    """

    op: str
    function: str
    file: str
    line: int
    process: str
    nodes: list[str]
    lines: list[SourceLine]
    dtypes: list[str]
    strides: list[str]
    rows: list[TunedRow]
    rows_count: int
    winner_changes: int  # neighbouring sizes whose winners are of different backends
    config_changes: int = 0  # neighbouring sizes whose winners are configured differently
    more: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CompiledTwice:
    """Candidates of autotuning that the process compiled a second time, with another ``ptxas``.

    Compile workers had compiled them before. ``workers`` and ``own`` are the CUDA releases of the two.
    """

    function: str | None  # null where the operations cannot be given to one
    file: str | None
    line: int | None
    process: str
    operations: int
    candidates: int
    compile_s: float
    workers: str
    own: str
