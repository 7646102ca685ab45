"""What is known of numbers nobody has seen: bounds, and whether they can be infinite or nan.

The entries of a tensor that lie behind its real rows start as the contract's value and go through the same
operations as the real ones. A sum over rows is safe only if they are known to be zero by then, a softmax only
if they are minus infinity, and a gradient is safe only if they stay finite: zero times infinity is nan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

INF = math.inf

LOWEST = -3.3895313892515355e38
"""bfloat16's lowest number: what is added to a mask of it, or of float32's, is lost in rounding."""


@dataclass(frozen=True, slots=True)
class Values:
    """Anything in ``low..high``. ``finite`` rules out infinities and nan, ``number`` rules out nan alone, and
    ``below_inf`` plus infinity alone.
    """

    low: float = -INF
    high: float = INF
    finite: bool = False
    number: bool = False
    below_inf: bool = False

    def __post_init__(self) -> None:
        if self.finite or self.low == self.high:
            object.__setattr__(self, "number", True)
        if self.number and self.low > -INF and self.high < INF:
            object.__setattr__(self, "finite", True)
        if self.finite or self.high < INF:
            object.__setattr__(self, "below_inf", True)

    @property
    def only(self) -> float | None:
        """The one number this can be, None for several."""
        return self.low if self.low == self.high else None

    def is_at_most(self, bound: float) -> bool:
        return self.number and self.high <= bound

    def join(self, other: Values) -> Values:
        low, high = min(self.low, other.low), max(self.high, other.high)
        finite, number = self.finite and other.finite, self.number and other.number
        return Values(low, high, finite, number, self.below_inf and other.below_inf)


ANYTHING = Values()
FINITE = Values(finite=True)
TRUTH = Values(0, 1, True)


def exactly(value: float) -> Values:
    return Values(float(value), float(value), math.isfinite(value))


_ONE = exactly(1)


def of_operation(name: str, operands: Sequence[Values]) -> Values:
    """The result of a pointwise operation; ANYTHING for one that is not known."""
    rule = _RULES.get(name)
    if rule is not None:
        try:
            result = rule(*operands)
        except TypeError:
            result = None
        if result is not None:
            return _without_nan(result)
    if name in _KEEPS_FINITE and all(each.finite for each in operands):
        return FINITE
    return ANYTHING


def _without_nan(result: Values) -> Values:
    if math.isnan(result.low) or math.isnan(result.high):
        return ANYTHING
    return result


def _finite(*operands: Values) -> bool:
    return all(each.finite for each in operands)


def _number(*operands: Values) -> bool:
    return all(each.number for each in operands)


def _squashed(low: float, high: float, function: Callable[[float], float]) -> Callable[[Values], Values]:
    """A function that is bounded, infinities included, but not of nan."""

    def squashed(a: Values) -> Values:
        return Values(function(a.low), function(a.high), a.number) if a.number else Values(low, high)

    return squashed


def _add(a: Values, b: Values, alpha: Values = _ONE) -> Values | None:
    if alpha != _ONE:
        b = _multiply(alpha, b)
    for one, other in ((a, b), (b, a)):
        if one.only in (-INF, INF) and other.finite:
            return one
        if one.finite and one.high <= LOWEST and other.finite:
            return Values(-INF, one.high, True)
    # Infinities of one sign add up to one: only two of different signs are no number.
    number = _number(a, b) and (a.finite or b.finite or (a.below_inf and b.below_inf))
    return Values(a.low + b.low, a.high + b.high, _finite(a, b), number, a.below_inf and b.below_inf)


def _subtract(a: Values, b: Values, alpha: Values = _ONE) -> Values | None:
    return _add(a, _negate(b), alpha)


def _negate(a: Values) -> Values:
    return Values(-a.high, -a.low, a.finite, a.number)


def _multiply(a: Values, b: Values) -> Values:
    for one, other in ((a, b), (b, a)):
        if one.only == 0 and other.finite:
            return exactly(0)
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    if any(math.isnan(corner) for corner in corners):
        is_positive = a.low >= 0 and b.low >= 0
        return Values(0 if is_positive and _finite(a, b) else -INF, INF, _finite(a, b))
    return Values(min(corners), max(corners), _finite(a, b))


def _divide(a: Values, b: Values) -> Values | None:
    if b.low <= 0 <= b.high:
        return None
    if a.only == 0 and b.finite:
        return exactly(0)
    is_positive = a.low >= 0 and b.low > 0
    return Values(0 if is_positive else -INF, INF, _finite(a, b))


def _power(a: Values, b: Values) -> Values | None:
    exponent = b.only
    if exponent is None:
        return None
    if exponent == 0:
        return exactly(1)
    if exponent in (1, 2, 3, 4):
        return Values(0 if exponent % 2 == 0 or a.low >= 0 else -INF, INF, a.finite)
    if exponent == 0.5 or (exponent < 0 and a.low > 0):
        return Values(0, INF, a.finite) if a.low > 0 else None
    return None


def _maximum(a: Values, b: Values) -> Values:
    return Values(max(a.low, b.low), max(a.high, b.high), _finite(a, b), _number(a, b))


def _minimum(a: Values, b: Values) -> Values:
    return Values(min(a.low, b.low), min(a.high, b.high), _finite(a, b), _number(a, b))


def _clamp(a: Values, low: Values, high: Values | None = None) -> Values:
    raised = _maximum(a, low)
    return raised if high is None else _minimum(raised, high)


def _where(condition: Values, a: Values, b: Values) -> Values:
    if condition.only is not None:
        return a if condition.only else b
    return a.join(b)


def _and(a: Values, b: Values) -> Values | None:
    if not (_is_truth(a) and _is_truth(b)):
        return None
    return exactly(0) if 0 in (a.only, b.only) else exactly(1) if a.only == b.only == 1 else TRUTH


def _or(a: Values, b: Values) -> Values | None:
    if not (_is_truth(a) and _is_truth(b)):
        return None
    return exactly(1) if 1 in (a.only, b.only) else exactly(0) if a.only == b.only == 0 else TRUTH


def _is_truth(a: Values) -> bool:
    return a.low >= 0 and a.high <= 1


def truth(a: Values) -> Values:
    """``a`` as a boolean."""
    if a.only == 0:
        return exactly(0)
    return exactly(1) if a.low > 0 or a.high < 0 else TRUTH


def _not(a: Values) -> Values | None:
    return None if not _is_truth(a) else exactly(1 - a.only) if a.only is not None else TRUTH


def _compare(holds: Callable[[float, float], bool]) -> Callable[[Values, Values], Values]:
    def compared(a: Values, b: Values) -> Values:
        if a.only is None or b.only is None:
            return TRUTH
        return exactly(holds(a.only, b.only))

    return compared


def _exponential(bound: float) -> float:
    return math.exp(bound) if bound < 700 else INF


def _positive_only(a: Values) -> Values | None:
    return Values(0, INF, a.finite) if a.low > 0 else None


def _logarithm(a: Values) -> Values | None:
    if a.only == 0:
        return exactly(-INF)
    return Values(-INF, INF, a.finite and a.low > 0, a.number, a.below_inf) if a.low >= 0 else None


def _same(a: Values, *_: Values) -> Values:
    return a


_RULES: dict[str, Callable[..., Values | None]] = {
    "add": _add,
    "sub": _subtract,
    "rsub": lambda a, b, alpha=_ONE: _subtract(b, a, alpha),
    "neg": _negate,
    "mul": _multiply,
    "div": _divide,
    "pow": _power,
    "square": lambda a: Values(0, INF, a.finite),
    "abs": lambda a: Values(0, INF, a.finite),
    "relu": lambda a: Values(max(a.low, 0), max(a.high, 0), a.finite, a.number),
    "exp": lambda a: Values(
        _exponential(a.low), _exponential(a.high), a.finite or (a.number and a.high < INF), a.number
    ),
    "sigmoid": _squashed(0, 1, lambda x: 1 / (1 + _exponential(-x))),
    "tanh": _squashed(-1, 1, math.tanh),
    "sin": lambda a: Values(-1, 1, True) if a.finite else None,
    "cos": lambda a: Values(-1, 1, True) if a.finite else None,
    "sqrt": _positive_only,
    "rsqrt": _positive_only,
    "log": _logarithm,
    "nan_to_num": lambda _, *given: FINITE if _finite(*given) else None,
    "reciprocal": lambda a: _divide(exactly(1), a),
    "clamp": _clamp,
    "clamp_min": _maximum,
    "clamp_max": _minimum,
    "maximum": _maximum,
    "minimum": _minimum,
    "where": _where,
    "masked_fill": lambda a, mask, value: _where(mask, value, a),
    "logical_and": _and,
    "bitwise_and": _and,
    "logical_or": _or,
    "bitwise_or": _or,
    "logical_not": _not,
    "bitwise_not": _not,
    "eq": _compare(lambda a, b: a == b),
    "ne": _compare(lambda a, b: a != b),
    "lt": _compare(lambda a, b: a < b),
    "le": _compare(lambda a, b: a <= b),
    "gt": _compare(lambda a, b: a > b),
    "ge": _compare(lambda a, b: a >= b),
    "clone": _same,
    "alias": _same,
    "detach": _same,
    "lift_fresh": _same,
    "copy": lambda _, source, *__: source,
    "fill": lambda _, value: value,
    "zero": lambda _: exactly(0),
    "isnan": lambda a: exactly(0) if a.number else TRUTH,
    "isinf": lambda a: exactly(0) if a.finite else TRUTH,
}

_KEEPS_FINITE = frozenset(
    (
        "_prelu_kernel",
        "abs",
        "add",
        "addcmul",
        "atan",
        "bitwise_left_shift",
        "bitwise_right_shift",
        "bitwise_xor",
        "ceil",
        "celu",
        "clamp",
        "clamp_max",
        "clamp_min",
        "cos",
        "elu",
        "erf",
        "exp",
        "exp2",
        "expm1",
        "floor",
        "gelu",
        "hardsigmoid",
        "hardswish",
        "hardtanh",
        "leaky_relu",
        "lerp",
        "log_sigmoid_forward",
        "logical_xor",
        "masked_fill",
        "maximum",
        "minimum",
        "mish",
        "mul",
        "nan_to_num",
        "neg",
        "prelu",
        "relu",
        "round",
        "rsub",
        "selu",
        "sgn",
        "sigmoid",
        "sign",
        "silu",
        "sin",
        "softplus",
        "square",
        "sub",
        "tanh",
        "threshold",
        "trunc",
        "where",
    )
)
