"""Runs a program again with a change applied from outside, and compares before and after.

The package itself is light: its module ``_apply`` is loaded inside the user's process.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compilescope.trial.eager import AgainstEager, against_eager
    from compilescope.trial.trial import Trial, verify, with_verdicts

__all__ = ["AgainstEager", "Trial", "against_eager", "verify", "with_verdicts"]

_HOMES = {
    "AgainstEager": "eager",
    "Trial": "trial",
    "against_eager": "eager",
    "verify": "trial",
    "with_verdicts": "trial",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
