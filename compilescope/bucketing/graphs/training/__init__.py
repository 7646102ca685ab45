"""CUDA graphs of a rung that is trained: one of its forward, one of its backward.

A backward reads what its forward saved, in memory that a replay of any other forward could write over. It is
proved, call by call, that none does: before a forward is replayed the holders of what was saved in its memory
pool are counted, and while there is one, another pool is taken. Whatever the caller sees is copied out of the
graphs' memory. So nothing here has to be promised by the user.
"""

from __future__ import annotations

from compilescope.bucketing.graphs.training.rung import GraphedTraining
from compilescope.bucketing.graphs.training.session import TrainingSession

__all__ = ["GraphedTraining", "TrainingSession"]
