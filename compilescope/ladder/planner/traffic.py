"""Traffic: the sizes calls came with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compilescope.ladder.planner.errors import TrafficError

LARGEST_SIZE = 2**31 - 1
MOST_CALLS = 2**53  # beyond it a float no longer counts exactly
_SEED = 0
_MOST_TO_DRAW = 10**9  # what numpy draws without replacement from

Sizes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """Sizes per symbol, joint for several symbols: row i is ``counts[i]`` calls with ``sizes[i]``.

    ``sizes`` has shape (rows, symbols), in order of time where ``ordered``; else only how often each came is
    known. ``moments`` (ascending, one a row) says in which interval of time a row was counted: the order is
    then that of the intervals, and unknown within one. ``unseen`` counts calls whose sizes nobody saw, None
    where even their number is unknown.
    Raises TrafficError for sizes below 1 or above 2**31 - 1, counts below 1, and no calls at all.
    """

    names: tuple[str, ...]
    sizes: Sizes
    counts: Sizes
    ordered: bool = True
    label: str = "traffic"
    note: str = ""
    unseen: int | None = 0
    moments: Sizes | None = None

    @classmethod
    def of(
        cls,
        sizes: Iterable[Any],
        *,
        names: Sequence[str] | None = None,
        counts: Iterable[int] | None = None,
        ordered: bool = True,
        label: str = "traffic",
        note: str = "",
        unseen: int | None = 0,
        moments: Iterable[int] | None = None,
    ) -> Traffic:
        """From whole numbers, or equally long rows of them; ``counts`` says how often each row came."""
        rows = _whole(sizes, "sizes")
        if rows.ndim == 1:
            rows = rows[:, None]
        times = np.ones(len(rows), np.int64) if counts is None else _whole(counts, "counts")
        named = tuple(names) if names is not None else default_names(rows.shape[1])
        intervals = None if moments is None else _whole(moments, "moments")
        return cls(named, rows, times, ordered, label, note, unseen, intervals)

    def __post_init__(self) -> None:
        rows, symbols = self.sizes.shape if self.sizes.ndim == 2 else (0, 0)
        if not rows or not symbols:
            raise TrafficError("there are no sizes", hint="a ladder is planned from the sizes of calls")
        if len(self.names) != symbols or len(set(self.names)) != symbols:
            raise TrafficError(f"{symbols} symbols need as many different names, not {list(self.names)}")
        if self.counts.shape != (rows,):
            raise TrafficError(f"{rows} rows of sizes need as many counts, not {self.counts.size}")
        if self.sizes.min() < 1 or self.sizes.max() > LARGEST_SIZE:
            raise TrafficError(f"a size must lie in 1..{LARGEST_SIZE}, not {_first_outside(self.sizes)}")
        if self.counts.min() < 1 or self.counts.sum(dtype=float) > MOST_CALLS:
            raise TrafficError(f"counts must be at least 1 and at most {MOST_CALLS} together")
        if self.moments is not None and (
            self.moments.shape != (rows,) or (np.diff(self.moments) < 0).any() or not self.ordered
        ):
            raise TrafficError("moments must be one a row, ascending, of traffic in order of time")
        self.sizes.setflags(write=False)
        self.counts.setflags(write=False)

    @property
    def calls(self) -> int:
        """Calls whose sizes were seen."""
        return int(self.counts.sum())

    @property
    def unseen_share(self) -> float | None:
        return None if self.unseen is None else self.unseen / (self.calls + self.unseen)

    def column(self, name: str) -> Sizes:
        """The sizes of one symbol, one per row."""
        return self.sizes[:, self.names.index(name)]

    def only(self, names: Sequence[str]) -> Traffic:
        """The same calls, fewer symbols. Raises TrafficError for a name that is not there."""
        missing = [name for name in names if name not in self.names]
        if missing:
            raise TrafficError(
                f"no symbol {missing[0]!r} in {self.label}", hint=f"there are: {', '.join(self.names)}"
            )
        kept = [self.names.index(name) for name in names]
        return replace(self, names=tuple(names), sizes=self.sizes[:, kept].copy())

    def distinct(self) -> tuple[Sizes, Sizes]:
        """The distinct rows in ascending order, shape (distinct, symbols), and how often each came."""
        flat = self.sizes[:, 0] if len(self.names) == 1 else self.sizes
        rows, where = np.unique(flat, axis=0, return_inverse=True)
        counts = np.zeros(len(rows), np.int64)
        np.add.at(counts, where.ravel(), self.counts)
        return rows.reshape(len(rows), -1), counts

    def halves(self) -> tuple[Traffic, Traffic]:
        """The earlier and the later half of the calls; where the order is unknown, two random halves.

        Raises TrafficError for fewer than two calls.
        """
        if self.calls < 2:
            raise TrafficError("one call cannot be split in halves", hint="give more traffic")
        early = self._earlier_half() if self.ordered else _random_half(self.counts)
        return self._with_counts(early), self._with_counts(self.counts - early)

    def _with_counts(self, counts: Sizes) -> Traffic:
        kept = counts > 0
        moments = None if self.moments is None else self.moments[kept]
        return replace(self, sizes=self.sizes[kept], counts=counts[kept], moments=moments)

    def _earlier_half(self) -> Sizes:
        """Of the interval in which the half ends, calls are drawn: their order is not known."""
        half = int(self.counts.sum()) // 2
        before = np.cumsum(self.counts) - self.counts
        if self.moments is None:
            return np.asarray(np.clip(half - before, 0, self.counts))
        at = self.moments[int(np.searchsorted(before, half, side="right")) - 1]
        split = self.moments == at
        early = np.where(self.moments < at, self.counts, 0)
        early[split] = drawn(self.counts[split], half - int(early.sum()))
        return early


def default_names(symbols: int) -> tuple[str, ...]:
    return ("size",) if symbols == 1 else tuple(f"size{number}" for number in range(symbols))


def _whole(values: Iterable[Any], what: str) -> Sizes:
    if not isinstance(values, np.ndarray):
        values = list(values)
    try:
        array = np.asarray(values)
    except ValueError:
        raise TrafficError(f"{what} must be numbers, or rows of equal length") from None
    if array.size and array.dtype.kind not in "iu":
        raise TrafficError(f"{what} must be whole numbers in 64 bits, not {array.dtype}")
    return array.astype(np.int64, copy=True)


def _first_outside(sizes: Sizes) -> int:
    return int(sizes[(sizes < 1) | (sizes > LARGEST_SIZE)][0])


def _random_half(counts: Sizes) -> Sizes:
    return drawn(counts, int(counts.sum()) // 2)


def drawn(counts: Sizes, calls: int) -> Sizes:
    """How often each row is among ``calls`` calls drawn without replacement; nearly so for very many."""
    draw, total = np.random.default_rng(_SEED), int(counts.sum())
    if total < _MOST_TO_DRAW:
        return np.asarray(draw.multivariate_hypergeometric(counts, calls, method="marginals"))
    return np.asarray(draw.binomial(counts, calls / total))
