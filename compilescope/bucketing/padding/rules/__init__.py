"""A rule for each ATen operation whose rows are known to stay apart, or to meet only where a mask hides pads.

A rule takes an operation and gives the rows of its results, or raises PaddingRefusedError. An operation
without a rule that touches a padded row is refused: a wrong answer is worse than a slow one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compilescope.bucketing.padding.operation import Operation
from compilescope.bucketing.padding.rows import Rows
from compilescope.bucketing.padding.rules import fused, indexing, making, mixing, pointwise, products, views
from compilescope.bucketing.padding.rules.pointwise import COUNTING
from compilescope.bucketing.padding.rules.pointwise import pointwise as pointwise_rule
from compilescope.bucketing.padding.rules.products import attention as attention_rule

Rule = Callable[[Operation], Rows | Sequence[Rows]]

RULES: dict[str, Rule] = {
    **pointwise.RULES,
    **views.RULES,
    **indexing.RULES,
    **mixing.RULES,
    **products.RULES,
    **fused.RULES,
    **making.RULES,
}

TAKES_SIZES: frozenset[str] = views.TAKES_SIZES | making.TAKES_SIZES | mixing.TAKES_SIZES
"""Operations whose integer arguments are shapes; elsewhere a padded size would be a wrong number."""

BEARS_INFINITY: frozenset[str] = frozenset(
    (
        *views.RULES,
        *indexing.RULES,
        *making.RULES,
        *mixing.MOVES,
        *mixing.SLOPE_OF_ONE,
        *pointwise.SLOPE_OF_ONE,
    )
)
"""Their slope is a number whatever they are given: no gradient is multiplied by an infinite entry."""

BEARS_TAILS: frozenset[str] = frozenset(
    (*views.RULES, *pointwise.BEARS_TAILS, *mixing.BEARS_TAILS)
) | frozenset((*products.BEARS_TAILS, "embedding"))
"""Operations that may be given rows that are filled up to a size: of what lies behind the real ones they ask
no more than its values, which are known, and nothing of where it ends.
"""

MOVES_ENTRIES: frozenset[str] = frozenset((*views.RULES, *pointwise.COPIES)) - {
    "cat",
    "stack",
    "constant_pad_nd",
}
"""What they give are entries of what they are given."""

__all__ = [
    "BEARS_INFINITY",
    "BEARS_TAILS",
    "COUNTING",
    "MOVES_ENTRIES",
    "RULES",
    "TAKES_SIZES",
    "Rule",
    "attention_rule",
    "pointwise_rule",
]
