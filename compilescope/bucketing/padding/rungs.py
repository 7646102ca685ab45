"""The padding of one captured graph: which names may be padded, and the calls that do it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compilescope.bucketing.compile import CapturedGraph
from compilescope.bucketing.identify import BoundName
from compilescope.bucketing.inner import Artifact
from compilescope.bucketing.padding.call import PaddedCall
from compilescope.bucketing.padding.contract import Pad, PaddingRefusedError
from compilescope.bucketing.padding.inspect import Inspection, inspect_padding

Contracts = Mapping[str, Sequence[Pad]]


class EntryPadding:
    """``refused`` has the names that cannot be padded in this graph, each with the reason."""

    def __init__(
        self, captured: CapturedGraph, names: Mapping[str, BoundName], contracts: Contracts, *, verified: bool
    ) -> None:
        self.refused: dict[str, PaddingRefusedError] = {}
        self._inspections: dict[str, Inspection] = {}
        for name, own in contracts.items():
            if name in names and names[name].symbols:
                others = [each for other in contracts for each in contracts[other] if other != name]
                self._inspect(captured, name, names[name], (own, others), verified)

    def check_sizes(self, names: Sequence[str], sizes: Mapping[Any, int]) -> None:
        """Raises PaddingRefusedError for a rung that looks up places its tables do not have."""
        for found in (self._inspections[name] for name in names):
            size = max(sizes[symbol] for symbol in found.symbols)
            if size > found.most:
                reason = f"a table of the graph has places for {found.most} rows alone"
                raise PaddingRefusedError(reason, found.most_line)

    def call(
        self, captured: CapturedGraph, names: Sequence[str], sizes: Mapping[Any, int], artifact: Artifact
    ) -> PaddedCall:
        """``artifact`` behind padding along ``names``. Raises PaddingRefusedError."""
        return PaddedCall(captured, sizes, [self._inspections[name] for name in names], artifact)

    def random(self, names: Sequence[str]) -> tuple[str, ...]:
        """Operations whose draws are others than in the unpadded graph."""
        return tuple(draw for name in names for draw in self._inspections[name].random)

    def _inspect(
        self,
        captured: CapturedGraph,
        name: str,
        bound: BoundName,
        contracts: tuple[Sequence[Pad], Sequence[Pad]],
        verified: bool,
    ) -> None:
        try:
            found = inspect_padding(captured, name, bound, *contracts)
            _check_promise(found, verified)
        except PaddingRefusedError as refused:
            self.refused[name] = refused
        except Exception as error:
            # Whatever a later torch changes under us, the rung is left out and the call gets its result.
            first = next(iter(str(error).splitlines()), "")
            reason = f"the graph could not be followed: {type(error).__name__}: {first}"
            self.refused[name] = PaddingRefusedError(reason)
        else:
            self._inspections[name] = found


def _check_promise(found: Inspection, verified: bool) -> None:
    if found.random and verified:
        raise PaddingRefusedError(
            f"padding changes what is drawn by {found.random[0]}: it cannot be verified"
        )
    if found.trusted and not verified:
        raise PaddingRefusedError(f"{found.trusted[0]} is not known to heed its mask: verify=True compares")
