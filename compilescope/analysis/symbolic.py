"""Guards on symbols: ``2 <= x.size()[0] <= 10``, ``n <= 3``, ``x.size()[0] == y.size()[0]``."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from compilescope.analysis.change import Change
from compilescope.analysis.code_text import Condition
from compilescope.analysis.source_text import readable
from compilescope.model.clipped import clipped

_OPPOSITE = {ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "=="}
_SIZE = re.compile(r"^(?P<tensor>.+)\.(?P<what>size|stride)\(\)\[(?P<dim>\d+)\]$")


def relation(condition: Condition, values: Mapping[str, Any] | None = None) -> list[Change]:
    """The change a failed relation states. ``old`` is the relation; ``new`` the values that broke it, else
    its opposite. ``values`` maps operand sources to what they are now.
    """
    try:
        tree = ast.parse(condition.text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [_plain(condition)] if condition.text else []
    now = {source: told.get("v") for source, told in (values or {}).items() if isinstance(told, Mapping)}
    if isinstance(tree, ast.BoolOp):
        return _several(condition, tree, now)
    operands = _operands(tree) if isinstance(tree, ast.Compare) else []
    if not isinstance(tree, ast.Compare) or not operands:
        return [_plain(condition)]
    kind = _kind(tree, operands, now)
    name, root, holder = describe(operands[0])
    if kind == "duck_shape":
        name = " and ".join(describe(operand)[0] for operand in operands[:2])
    is_simple = len(tree.ops) == 1 and ast.unparse(tree.left) == operands[0]
    new: Any = opposite(tree)
    if kind == "size_one":
        new = now[operands[0]]
    elif kind != "duck_shape" and now and (not is_simple or _fixes(tree)):
        told = _values(operands, now)
        new = new if told == "" else told
    elif kind == "duck_shape" and now:
        new = " and ".join(str(now.get(operand, "?")) for operand in operands[:2])
    return [Change(kind, name, plain_text(condition.text), new, holder, comment=condition.comment, root=root)]


def _fixes(tree: ast.Compare) -> bool:
    """``lr == 0.1``: the value that came says more than that it is another."""
    return isinstance(tree.ops[0], ast.Eq) and isinstance(tree.comparators[0], ast.Constant)


def fixed_number(change: Change) -> int | float | None:
    """0.1 of the relation ``lr == 0.1``; None for any other."""
    prefix = f"{change.source} == "
    if (
        change.kind != "symbolic_guard"
        or not isinstance(change.old, str)
        or not change.old.startswith(prefix)
    ):
        return None
    for kind in (int, float):
        try:
            return kind(change.old.removeprefix(prefix))
        except ValueError:
            continue
    return None


def _values(operands: list[str], now: Mapping[str, Any]) -> Any:
    """The value of one operand, or those of several by name."""
    known = [(describe(operand)[0], now[operand]) for operand in operands if now.get(operand) is not None]
    if len(operands) == 1 and known:
        return known[0][1]
    return clipped(", ".join(f"{name} = {value}" for name, value in known), 80)


def _several(condition: Condition, tree: ast.BoolOp, now: Mapping[str, Any]) -> list[Change]:
    """Relations joined by and / or: which one failed is not known, so the whole stands as the old value."""
    parts = [_operands(part) for part in tree.values if isinstance(part, ast.Compare)]
    operands = list(dict.fromkeys(operand for part in parts for operand in part))
    if not operands:
        return [_plain(condition)]
    name, root, holder = describe(operands[0])
    text = plain_text(condition.text)
    new = _values(operands, now) or plain_text(f"not ({condition.text})")
    return [Change("symbolic_guard", name, text, new, holder, comment=condition.comment, root=root)]


def describe(source: str) -> tuple[str, str | None, str | None]:
    """("x dim 0", "x", holder) of ``L['x'].size()[0]``; plain values as they are."""
    match = _SIZE.match(source)
    name = readable(match["tensor"] if match else source)
    if match is None:
        return name.text, name.root, name.holder
    word = "dim" if match["what"] == "size" else "stride dim"
    return f"{name.text} {word} {match['dim']}", name.root, name.holder


def plain_text(relation_text: str) -> str:
    """A relation with its sources as a person would write them; of a long one its first 80 characters."""
    text = re.sub(r"[LG]\['(\w+)'\]", r"\1", relation_text.strip())
    text = re.sub(r"\.size\(\)\[(\d+)\]", r" dim \1", text)
    text = re.sub(r"\.stride\(\)\[(\d+)\]", r" stride dim \1", text)
    return clipped(text, 80)


def opposite(tree: ast.Compare) -> str:
    if len(tree.ops) == 1 and type(tree.ops[0]) in _OPPOSITE:
        left, right = ast.unparse(tree.left), ast.unparse(tree.comparators[0])
        return plain_text(f"{left} {_OPPOSITE[type(tree.ops[0])]} {right}")
    return plain_text(f"not ({ast.unparse(tree)})")


def _operands(tree: ast.Compare) -> list[str]:
    """The sources inside a relation, left to right: the parts that are not numbers or arithmetic."""
    found: list[str] = []
    for side in (tree.left, *tree.comparators):
        for node in ast.walk(side):
            text = ast.unparse(node) if isinstance(node, ast.Subscript | ast.Attribute | ast.Name) else ""
            if text and not any(text in whole for whole in found) and text not in ("L", "G"):
                found.append(text)
    return found


def _kind(tree: ast.Compare, operands: list[str], now: Mapping[str, Any]) -> str:
    if any(".stride()" in operand for operand in operands):
        return "stride"
    is_equality = len(tree.ops) == 1 and isinstance(tree.ops[0], ast.Eq)
    sides = [tree.left, *tree.comparators]
    if is_equality and len(operands) >= 2 and all(_SIZE.match(ast.unparse(side)) for side in sides):
        return "duck_shape"
    if "storage_offset" in ast.unparse(tree) or "data_ptr" in ast.unparse(tree):
        return "alignment"
    if all(isinstance(op, ast.Is | ast.IsNot) for op in tree.ops):
        return "identity"
    size = _SIZE.match(operands[0])
    if size and size["what"] == "size" and now.get(operands[0]) in (0, 1):
        return "size_one"
    return "symbolic_guard"


def _plain(condition: Condition) -> Change:
    """A guard in a form not known here, or words of torch's that no version before had."""
    text = plain_text(condition.text)
    return Change("unknown", text, None, None, comment=condition.comment, new_known=False)
