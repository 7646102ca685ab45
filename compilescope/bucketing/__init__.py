"""A torch.compile backend that compiles one trace once per anticipated size and dispatches by shape.

>>> ladder = BucketLadder.pins([256, 512, 1024]) | BucketLadder.range(1, 8192, hint=600)
>>> model = bucketed(model, ladder, dims={"x": {0: "tokens"}})
>>> model.warm_up(example_x)
>>> print(model.explain())
"""

from __future__ import annotations

from compilescope.bucketing.backend import BucketedBackend
from compilescope.bucketing.explain import Explanation
from compilescope.bucketing.model import BucketedFunction, BucketedModule, bucketed
from compilescope.bucketing.padding import Pad
from compilescope.bucketing.warm_up import WarmUp

__all__ = [
    "BucketedBackend",
    "BucketedFunction",
    "BucketedModule",
    "Explanation",
    "Pad",
    "WarmUp",
    "bucketed",
]
