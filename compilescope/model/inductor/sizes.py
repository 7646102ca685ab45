"""Sizes that may hold symbols: sums of products of integers, symbols and opaque subexpressions.

Inductor prints sizes as Python expressions (``4*s27``, ``((s0 + 7)//8)``). They are added and multiplied here
without sympy; what is neither a sum nor a product stays an opaque factor that can still be evaluated.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

MAX_EXPRESSION = 2000  # characters; longer ones stay one opaque factor
MAX_TERMS = 64
_UNHINTED = 1024  # stands for a symbol without a hint where expressions have to be ordered
_WORD = re.compile(r"[A-Za-z_]\w*")

Monomial = tuple[tuple[str, int], ...]  # ((factor, power), ...), sorted


@dataclass(frozen=True, slots=True)
class Size:
    """A number of elements or bytes: ``terms`` maps products of factors to integer coefficients."""

    terms: tuple[tuple[Monomial, int], ...]

    @property
    def value(self) -> int | None:
        """The number, or None while there are symbols in it."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and self.terms[0][0] == ():
            return self.terms[0][1]
        return None

    def __add__(self, other: Size | int) -> Size:
        terms = dict(self.terms)
        for product, coefficient in size(other).terms:
            terms[product] = terms.get(product, 0) + coefficient
        return _normal(terms)

    def __sub__(self, other: Size | int) -> Size:
        return self + size(other) * -1

    def __mul__(self, other: Size | int) -> Size:
        terms: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in size(other).terms:
                product = _multiply(left, right)
                terms[product] = terms.get(product, 0) + a * b
        return _normal(terms)

    def at(self, hints: Mapping[str, int]) -> int | None:
        """The number for these values of the symbols; None if one is missing or the expression is odd."""
        total = 0
        for product, coefficient in self.terms:
            for factor, power in product:
                found = hints.get(factor) if factor.isidentifier() else _evaluate(factor, hints)
                if found is None:
                    return None
                coefficient *= found**power
            total += coefficient
        return total

    def order(self, hints: Mapping[str, int]) -> int:
        """For comparing sizes only: symbols without a hint count as 1024."""
        symbols = {
            word for product, _ in self.terms for factor, _ in product for word in _WORD.findall(factor)
        }
        found = self.at({**dict.fromkeys(symbols, _UNHINTED), **hints})
        return found if found is not None else 0

    def __str__(self) -> str:
        return " + ".join(_print(product, n) for product, n in self.terms).replace("+ -", "- ") or "0"


def size(value: Size | int | str) -> Size:
    """A Size from a number or from an expression as Inductor prints it. Never raises."""
    if isinstance(value, Size):
        return value
    return _normal({(): value}) if isinstance(value, int) else _parsed(value.strip())


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> Size:
    try:
        return _from_tree(ast.parse(text, mode="eval").body) if len(text) <= MAX_EXPRESSION else _opaque(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _opaque(text)


def product(values: tuple[str, ...]) -> Size:
    total = size(1)
    for value in values:
        total = total * size(value)
    return total


def _from_tree(tree: ast.expr) -> Size:
    if isinstance(tree, ast.Constant) and type(tree.value) is int:
        return size(tree.value)
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return _from_tree(tree.operand) * -1
    if isinstance(tree, ast.BinOp):
        if isinstance(tree.op, ast.Add):
            return _from_tree(tree.left) + _from_tree(tree.right)
        if isinstance(tree.op, ast.Sub):
            return _from_tree(tree.left) - _from_tree(tree.right)
        if isinstance(tree.op, ast.Mult):
            return _from_tree(tree.left) * _from_tree(tree.right)
        if isinstance(tree.op, ast.Pow) and isinstance(tree.right, ast.Constant):
            return _power(_from_tree(tree.left), tree.right.value, ast.unparse(tree))
    return _opaque(ast.unparse(tree))


def _power(base: Size, exponent: Any, text: str) -> Size:
    if type(exponent) is not int or not 0 <= exponent <= 4:
        return _opaque(text)
    total = size(1)
    for _ in range(exponent):
        total = total * base
    return total


def _opaque(text: str) -> Size:
    return Size((((((text, 1),)), 1),))


def _normal(terms: Mapping[Monomial, int]) -> Size:
    if len(terms) == 1:  # nearly all: plain numbers
        return Size(tuple(term for term in terms.items() if term[1]))
    kept = sorted((p, n) for p, n in terms.items() if n)
    kept.sort(key=lambda term: -sum(power for _, power in term[0]))
    if len(kept) > MAX_TERMS:  # an expression nobody can read: one opaque sum
        return _opaque(" + ".join(_print(p, n) for p, n in kept))
    return Size(tuple(kept))


def _multiply(left: Monomial, right: Monomial) -> Monomial:
    powers = dict(left)
    for factor, power in right:
        powers[factor] = powers.get(factor, 0) + power
    return tuple(sorted(powers.items()))


def _print(factors: Monomial, coefficient: int) -> str:
    words = [(f if f.isidentifier() else f"({f})") + (f"**{p}" if p > 1 else "") for f, p in factors]
    if coefficient == -1 and words:
        words[0] = f"-{words[0]}"
    elif coefficient != 1 or not words:
        words.insert(0, str(coefficient))
    return "*".join(words)


_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,  # inside of a rounding: a fraction is no size
    ast.Mod: operator.mod,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "max": max,
    "min": min,
    "Max": max,
    "Min": min,
    "FloorDiv": operator.floordiv,
    "CleanDiv": operator.floordiv,
    "CeilDiv": lambda a, b: -(-a // b),
    "Mod": operator.mod,
    "PythonMod": operator.mod,
    "align": lambda n: (n + 63) // 64 * 64,
    "math.ceil": math.ceil,
    "CeilToInt": math.ceil,
    "FloorToInt": math.floor,
    "TruncToInt": math.trunc,
    "IntTrueDiv": operator.truediv,
    "FloatTrueDiv": operator.truediv,
    "ToFloat": float,
    "Identity": lambda value: value,
    "ModularIndexing": lambda base, divisor, modulus: base // divisor % modulus,
}


def _evaluate(text: str, hints: Mapping[str, int]) -> int | None:
    try:
        found = _value(ast.parse(text, mode="eval").body, hints)
    except (SyntaxError, ValueError, KeyError, TypeError, ArithmeticError, RecursionError, MemoryError):
        return None
    return found if type(found) is int and abs(found) < 1 << 80 else None


def _value(tree: ast.expr, hints: Mapping[str, int]) -> int:
    if isinstance(tree, ast.Constant) and type(tree.value) is int:
        return tree.value
    if isinstance(tree, ast.Name):
        return hints[tree.id]
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return -_value(tree.operand, hints)
    if isinstance(tree, ast.BinOp):
        made: int = _OPERATORS[type(tree.op)](_value(tree.left, hints), _value(tree.right, hints))
        return made
    if isinstance(tree, ast.Call) and not tree.keywords:
        called: int = _FUNCTIONS[ast.unparse(tree.func)](*(_value(arg, hints) for arg in tree.args))
        return called
    raise ValueError("not an expression of sizes")
