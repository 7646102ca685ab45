"""What can be wrong with what a ladder is planned from.

UsageError
├── TrafficError     sizes that cannot be read or mean nothing
├── CostError        a cost curve that cannot be read or means nothing
└── PlanError        no ladder satisfies what was asked
"""

from __future__ import annotations

from compilescope.errors import UsageError


class TrafficError(UsageError, ValueError):
    slug = "ladder-traffic"


class CostError(UsageError, ValueError):
    slug = "ladder-cost"


class PlanError(UsageError, ValueError):
    slug = "ladder-plan"
