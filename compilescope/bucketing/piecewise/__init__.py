"""Split a graph at named operators: these run eagerly, what lies between is compiled, identical pieces once.

>>> model = bucketed(model, ladder, dims, split_ops=ATTENTION)
>>> model.warm_up(example_x)
>>> print(model.backend.splits[-1])     # 9 pieces: 4 eager, 5 compiled of which 2 were new
"""

from __future__ import annotations

from compilescope.bucketing.piecewise.compiler import PiecewiseCompiler, SplitReport
from compilescope.bucketing.piecewise.cut import CannotSplitError, Piece, cut
from compilescope.bucketing.piecewise.operators import ATTENTION, SplitOp, SplitOps

__all__ = [
    "ATTENTION",
    "CannotSplitError",
    "Piece",
    "PiecewiseCompiler",
    "SplitOp",
    "SplitOps",
    "SplitReport",
    "cut",
]
