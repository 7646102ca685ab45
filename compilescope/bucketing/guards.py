"""Dynamo's shape guards as data: which rungs they admit, and what a compile added to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy  # type: ignore[import-untyped]
from torch.utils._sympy.printers import PythonPrinter

from compilescope.bucketing._torch import finite

HINT_SEARCH = 128
"""How far from the wanted size an admitted hint is looked for (guards like 'a multiple of 64')."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A guard of the trace that a size breaks, and the user's line it came from, as torch words it."""

    guard: str
    user_line: str | None


class UnreachableGuardError(Exception):
    """A guard over something the arguments do not show: nothing could check it at run time."""


def violation(shape_env: Any, sizes: Mapping[Any, int]) -> Violation | None:
    """The first guard that cannot hold when the symbols have ``sizes``; None when all can.

    A guard that also depends on other symbols is left to Dynamo, which checks it on each call.
    """
    for symbol, size in sizes.items():
        broken = _range_violation(shape_env, symbol, size)
        if broken is not None:
            return broken
    values = {symbol: sympy.Integer(size) for symbol, size in sizes.items()}
    for guard in shape_env.guards:
        if guard.expr.free_symbols & values.keys() and guard.expr.xreplace(values) == sympy.false:
            return Violation(str(guard.expr), _line(guard.sloc))
    return None


def admitted_range(shape_env: Any, symbol: Any, low: int, high: int | None) -> tuple[int, int | None] | None:
    """``low..high`` cut to what the trace allows; None when nothing is left. ``high`` None is unbounded."""
    allowed = shape_env.var_to_range[symbol]
    low = max(low, finite(allowed.lower) or 0)
    upper = finite(allowed.upper)
    if upper is not None:
        high = upper if high is None else min(high, upper)
    return None if high is not None and low > high else (low, high)


def admitted_hint(
    shape_env: Any, symbols: Iterable[Any], span: tuple[int, int | None], wanted: int
) -> int | None:
    """The size nearest to ``wanted`` within ``span`` that every guard admits; None when none is near."""
    low, high = span
    symbols = tuple(symbols)
    start = max(low, wanted if high is None else min(wanted, high))
    for distance in range(HINT_SEARCH):
        for size in dict.fromkeys((start + distance, start - distance)):
            inside = low <= size and (high is None or size <= high)
            if inside and violation(shape_env, dict.fromkeys(symbols, size)) is None:
                return size
    return None


def predicate(
    private_env: Any, free: Mapping[Any, Any], before: Mapping[Any, Any], reach: Mapping[Any, str]
) -> tuple[str, ...]:
    """What compiling in ``private_env`` has assumed of its free symbols, as Python over the arguments.

    ``free`` maps the private symbols to the graph's, ``before`` has their ranges before the compile,
    ``reach`` says how to read the graph's. Nobody else ever sees these guards. Raises UnreachableGuardError.
    """
    names = {mine: reach[theirs] for mine, theirs in free.items() if theirs in reach}
    printer = _ArgumentPrinter(names)
    terms = [_term(printer, guard.expr) for guard in private_env.guards if guard.expr != sympy.true]
    for symbol in free:
        terms += _narrowing(private_env, symbol, before[symbol], printer)
    return tuple(dict.fromkeys(terms))


class _ArgumentPrinter(PythonPrinter):  # type: ignore[misc]
    def __init__(self, names: Mapping[Any, str]) -> None:
        super().__init__()
        self._names = names

    def _print_Symbol(self, symbol: Any) -> str:  # noqa: N802  (sympy's dispatch)
        if symbol not in self._names:
            raise UnreachableGuardError(f"no argument shows {symbol}")
        return self._names[symbol]


def _term(printer: _ArgumentPrinter, guard: Any) -> str:
    try:
        return str(printer.doprint(guard))
    except UnreachableGuardError as unreachable:
        raise UnreachableGuardError(f"guard {guard}: {unreachable}") from None


def _narrowing(private_env: Any, symbol: Any, before: Any, printer: _ArgumentPrinter) -> list[str]:
    replaced = private_env.replacements.get(symbol)
    if replaced is not None:
        return [f"{_term(printer, symbol)} == {_term(printer, replaced)}"]
    after = private_env.var_to_range[symbol]
    terms = []
    if after.lower > before.lower:
        terms.append(f"{_term(printer, symbol)} >= {int(after.lower)}")
    if after.upper < before.upper:
        terms.append(f"{_term(printer, symbol)} <= {int(after.upper)}")
    return terms


def _range_violation(shape_env: Any, symbol: Any, size: int) -> Violation | None:
    if symbol in shape_env.replacements:
        return Violation(f"{symbol} == {shape_env.replacements[symbol]}", None)
    allowed = shape_env.var_to_range.get(symbol)
    if allowed is None or size in allowed:
        return None
    locations = getattr(shape_env, "var_to_range_sloc", {}).get(symbol)
    if size < allowed.lower:
        return Violation(f"{symbol} >= {allowed.lower}", _line(getattr(locations, "lower", None)))
    return Violation(f"{symbol} <= {allowed.upper}", _line(getattr(locations, "upper", None)))


def _line(location: Any) -> str | None:
    return str(location).strip() or None if location is not None else None
