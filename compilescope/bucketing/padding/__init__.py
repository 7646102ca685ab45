"""Padding with a contract, and what pads batches so that a model gives the same results on them.

>>> model = bucketed(model, BucketLadder.pads([160, 256]), {"x": {0: "tokens"}}, pad=[Pad("x", 0, 0.0)])
"""

from __future__ import annotations

from compilescope.bucketing.padding.contract import Pad, PaddingRefusedError

__all__ = ["Pad", "PaddingRefusedError"]
