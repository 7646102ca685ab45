"""Keeping Dynamo from looking at our callbacks.

A callback that runs while Dynamo's frame evaluation is on (compiled autograd does this) would itself be
compiled: an extra frame in the user's program. So evaluation is off while a callback runs, and the frame
that turns it off is marked as one to skip.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def out_of_dynamo(function: Callable[P, T]) -> Callable[P, T]:
    """``function``, run with Dynamo's frame evaluation off in this thread."""
    from torch._C._dynamo.eval_frame import set_eval_frame

    @functools.wraps(function)
    def unseen(*args: P.args, **kwargs: P.kwargs) -> T:
        before = set_eval_frame(None)
        try:
            return function(*args, **kwargs)
        finally:
            set_eval_frame(before)

    mark_skipped(unseen.__code__)
    return unseen


def mark_skipped(code: Any) -> None:
    """Ask Dynamo never to convert this code object. All closures made from one ``def`` share it."""
    from torch._dynamo.eval_frame import skip_code

    skip_code(code)
