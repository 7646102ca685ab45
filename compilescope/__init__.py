"""CompileScope: see why torch.compile does not help, and what to fix first.

Nothing heavy is imported here: the names below load their room when first used (PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "BucketLadder": "compilescope.ladder",
    "BucketedBackend": "compilescope.bucketing",
    "bucketed": "compilescope.bucketing",
    "check": "compilescope.steps",
    "load_ipython_extension": "compilescope.notebook",
    "profile": "compilescope.notebook",
    "step": "compilescope.steps",
}

__all__ = ["BucketLadder", "BucketedBackend", "__version__", "bucketed", "check", "profile", "step"]

if TYPE_CHECKING:
    from compilescope.bucketing import BucketedBackend as BucketedBackend
    from compilescope.bucketing import bucketed as bucketed
    from compilescope.ladder import BucketLadder as BucketLadder
    from compilescope.notebook import profile as profile
    from compilescope.steps import check as check
    from compilescope.steps import step as step


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'compilescope' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
