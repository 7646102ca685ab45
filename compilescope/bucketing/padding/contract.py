"""What a caller promises about padding one dimension of one argument."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from compilescope.errors import UsageError


@dataclass(frozen=True, slots=True)
class Pad:
    """``arg`` may be made longer at the end of ``dim`` with ``value``: sizes may go to a rung above them.

    >>> Pad("input_ids", 1, 0), Pad("attention_mask", 1, 0)

    ``mask`` names the argument, padded by a contract of its own, that tells real rows from padded ones. The
    mask is followed through the graph in any case; naming it is only needed where an operation that is given
    the mask is not one whose rows are known to stay apart, and then the rung must be verified.
    ``unpad_outputs`` overrides what is derived from the graph: output number to the dimension that is cut
    back, or None for an output that is handed out as it is.

    Raises UsageError for a value that is not a number.
    """

    arg: str
    dim: int
    value: float = 0
    mask: str | None = None
    unpad_outputs: Mapping[int, int | None] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.value, (bool, int, float)) or math.isnan(self.value):
            raise UsageError(f"{self.arg} cannot be padded with {self.value!r}: give a number")
        if self.dim < 0:
            raise UsageError(f"dim {self.dim} of {self.arg}: count from the front, as dims does")


class PaddingRefusedError(Exception):
    """This graph gives other results when it is padded, or nobody can show that it does not.

    ``user_line`` is where the operation comes from, None where no line is known.
    """

    def __init__(self, reason: str, user_line: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.user_line = user_line


def by_name(
    contracts: Iterable[Pad], dims: Mapping[str, Mapping[int, str | None]], padded: Iterable[str]
) -> dict[str, tuple[Pad, ...]]:
    """The contracts of each name whose ladder has pads. Raises UsageError where they do not fit ``dims``."""
    found: dict[str, list[Pad]] = {name: [] for name in padded}
    if isinstance(contracts, Pad):
        raise UsageError("pad is a list of contracts, not one", hint='Write pad=[Pad("x", 0, 0.0)].')
    contracts = tuple(contracts)
    seen: set[tuple[str, int]] = set()
    for each in contracts:
        if not isinstance(each, Pad):
            raise UsageError(f"pad has {each!r}", hint='Write pad=[Pad("x", 0, 0.0)].')
        if (each.arg, each.dim) in seen:
            raise UsageError(f"dimension {each.dim} of {each.arg!r} has two contracts")
        seen.add((each.arg, each.dim))
        name = dims.get(each.arg, {}).get(each.dim)
        if name is None:
            raise UsageError(f"dimension {each.dim} of {each.arg!r} has no name in dims, and a contract")
        if name not in found:
            raise UsageError(
                f"{each.arg!r} may be padded along {name!r}, whose ladder has no pads",
                hint="Write the sizes to pad up to as BucketLadder.pads([...]).",
            )
        found[name].append(each)
        if each.mask is not None and all(other.arg != each.mask for other in contracts):
            raise UsageError(f"the mask {each.mask!r} of {each.arg!r} has no contract of its own")
    missing = [name for name, each in found.items() if not each]
    if missing:
        raise UsageError(
            f"the ladder of {missing[0]!r} has pads, and no contract says how to pad",
            hint='Pass pad=[Pad("x", 0, 0.0)], or use pins.',
        )
    return {name: tuple(each) for name, each in found.items()}
