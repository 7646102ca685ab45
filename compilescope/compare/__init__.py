"""Two recordings side by side: what is new, gone or changed, and which component of a cache key moved.

Pure: finished reports and findings in, one :class:`Diff` out. Never imports torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compilescope.compare._compare import compare
    from compilescope.compare.counts import TimeLimits
    from compilescope.compare.diff import Diff
    from compilescope.compare.run import Recorded, recorded

__all__ = ["Diff", "Recorded", "TimeLimits", "compare", "recorded"]

_HOMES = {
    "Diff": "diff",
    "Recorded": "run",
    "TimeLimits": "counts",
    "compare": "_compare",
    "recorded": "run",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
