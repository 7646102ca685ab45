"""How much a tensor is made longer by: proofs about sizes, such as that 8 - n % 8 is between 1 and 8.

Torch's own bounds rest on guards of one trace; these hold for every size, so for the rung as for the call.
"""

from __future__ import annotations

from math import inf
from typing import Any

import sympy  # type: ignore[import-untyped]

Bounds = tuple[Any, Any]

_UNKNOWN: Bounds = (-inf, inf)


def is_never_negative(amount: Any) -> bool:
    """Whether ``amount``, sympy of sizes, is proved to be 0 or more whatever these are."""
    return bool(_bounds(_as_remainders(amount))[0] >= 0)


def is_bounded(amount: Any) -> bool:
    """Whether ``amount`` is proved to stay between 0 and a fixed number however large the sizes are."""
    low, high = _bounds(_as_remainders(amount))
    return bool(low >= 0 and high < inf)


class _Remainder(sympy.Function):  # type: ignore[misc]
    """``a`` modulo a fixed, positive ``b``, which is 0 or more for every ``a``, as in Python."""


def _as_remainders(amount: Any) -> Any:
    """Multiples of a rounded quotient as what was divided and its remainder: 8 * (n // 8) is n - n % 8."""
    if not getattr(amount, "args", ()):
        return sympy.sympify(amount)
    args = [_as_remainders(each) for each in amount.args]
    name = type(amount).__name__
    if name == "CeilToInt":
        (divided,) = amount.args
        if type(divided).__name__ in ("IntTrueDiv", "FloatTrueDiv"):
            a, b = (_as_remainders(each) for each in divided.args)
            return sympy.expand((a + _Remainder(-a, b)) / b) if _is_positive(b) else amount
        return amount
    if name in ("FloorDiv", "Mod", "PythonMod") and len(args) == 2 and _is_positive(args[1]):
        a, b = sympy.expand(args[0]), args[1]
        return _Remainder(a, b) if name != "FloorDiv" else sympy.expand((a - _Remainder(a, b)) / b)
    if amount.is_Add or amount.is_Mul or name in ("Max", "Min"):
        return sympy.expand(amount.func(*args))
    return amount


def _is_positive(number: Any) -> bool:
    return bool(number.is_Integer and number > 0)


def _bounds(amount: Any) -> Bounds:
    if amount.is_number:
        return amount, amount
    if amount.is_Symbol:
        return (0, inf) if amount.is_nonnegative else _UNKNOWN
    if isinstance(amount, _Remainder):
        return 0, amount.args[1] - 1
    if amount.is_Add:
        lows, highs = zip(*(_bounds(each) for each in amount.args), strict=True)
        return sum(lows), sum(highs)
    name = type(amount).__name__
    if name in ("Max", "Min"):
        lows, highs = zip(*(_bounds(each) for each in amount.args), strict=True)
        chosen = max if name == "Max" else min
        return chosen(lows), chosen(highs)
    factor, rest = amount.as_coeff_Mul()
    if amount.is_Mul and factor != 1:
        low, high = _bounds(rest)
        return (factor * low, factor * high) if factor > 0 else (factor * high, factor * low)
    if amount.is_Mul and all(_bounds(each)[0] >= 0 for each in amount.args):
        return 0, inf
    return _UNKNOWN
