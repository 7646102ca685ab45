"""Checking the leaf guards of one compiled entry again, each by torch's own checker."""

from __future__ import annotations

import enum
import re
import types
from collections import Counter
from collections.abc import Iterator
from typing import Any

from compilescope.capture._access import UnreadableError, length, read
from compilescope.capture._entries import Entry
from compilescope.capture._inert import derives, is_a, is_one_of, type_attribute
from compilescope.capture._relations import condition_of, duplicates, evaluate
from compilescope.capture._telling import told

MAX_LEAVES = 20_000
MAX_FAILED = 64
MAX_CODE = 2000

# These remember what they saw in the same pass over the frame: asking one again out of order would change
# what it answers next. Their written conditions are evaluated instead.
RELATIONAL = frozenset(
    {"NO_TENSOR_ALIASING", "OBJECT_ALIASING", "STORAGE_OVERLAPPING", "SYMBOLIC_SHAPE_GUARD"}
)
_OBJECT_ID = re.compile(r"___check_obj_id\(.*, (\d+)\)")
_ATTRIBUTE = re.compile(r"(.+)\.\w+", re.DOTALL)
_SINGLETONS = {id(value): str(value) for value in (None, True, False)}
WHOLE_FRAME = frozenset({None, "", "L", "G"})


class Recheck:
    """``failed``: what does not hold now; ``unchecked``: per kind, how many could not be asked again."""

    def __init__(self, f_locals: dict[str, Any], f_globals: dict[str, Any], entry: Entry) -> None:
        self._locals = f_locals
        self._globals = f_globals
        self._entry = entry
        self._seen_relations: set[str] = set()
        self.failed: list[dict[str, Any]] = []
        self.unchecked: Counter[str] = Counter()

    def run(self, root: Any) -> None:
        managers = _Managers(root)
        for manager, source in managers:
            if hasattr(manager, "get_key_value_managers"):
                self._attempt("DICT_LENGTH", self._dict_length, source)
            for leaf in manager.get_leaf_guards():
                self._attempt(type(leaf).__name__, self._leaf, leaf, source)
        if managers.left:
            self.unchecked["over the limit"] += managers.left
        for leaf in root.get_epilogue_lambda_guards():
            self._attempt(type(leaf).__name__, self._epilogue, leaf)

    def _attempt(self, kind: str, check: Any, *args: Any) -> None:
        try:
            check(*args)
        except Exception:
            self.unchecked[kind] += 1

    def _leaf(self, leaf: Any, source: str | None) -> None:
        kind = type(leaf).__name__
        if kind in RELATIONAL:
            self._conditions(kind, leaf)
        elif source in WHOLE_FRAME:
            if not leaf(self._locals):
                self._fail(kind, source, leaf.verbose_code_parts(), None)
        else:
            value = read(source or "", self._locals, self._globals)
            if kind == "LAMBDA_GUARD" and _is_tensor_subclass(value):
                self.unchecked[kind] += 1  # would call the subclass's own methods
            elif not leaf(value):
                self._fail(kind, source, leaf.verbose_code_parts(), told(value))

    def _epilogue(self, leaf: Any) -> None:
        if not leaf(self._locals):
            self._conditions(type(leaf).__name__, leaf)

    def _conditions(self, kind: str, leaf: Any) -> None:
        """Of the conditions one guard is made of, those that are false now."""
        for part in leaf.verbose_code_parts():
            condition = condition_of(part)
            if condition in self._seen_relations:
                continue
            self._seen_relations.add(condition)
            try:
                if condition.startswith("check_no_aliasing("):
                    same = duplicates(part, self._locals, self._globals)
                    if same:
                        self._fail(kind, same[0], [part], {"t": "same", "v": same})
                    continue
                holds, operands = evaluate(part, self._locals, self._globals)
            except UnreadableError:
                self.unchecked[kind] += 1
                continue
            if not holds:
                self._fail(kind, next(iter(operands), None), [part], None, operands)

    def _dict_length(self, source: str) -> None:
        expected = self._entry.lengths.get(source)
        if expected is None:
            return
        value = read(source, self._locals, self._globals)
        if length(value) != expected:
            self._fail("DICT_LENGTH", source, [f"len({source}) == {expected}"], told(value))

    def _fail(
        self, kind: str, source: str | None, code: list[str], got: Any, operands: dict[str, Any] | None = None
    ) -> None:
        if len(self.failed) >= MAX_FAILED:
            self.unchecked["over the limit"] += 1
            return
        found = {
            "kind": kind,
            "source": source,
            "code": [str(part)[:MAX_CODE] for part in code],
            "got": got,
            "old": self._expected(kind, source, code),
            "owner": self._owner(source),
            "operands": operands,
            "at": self._lines(source, kind),
        }
        self.failed.append({k: v for k, v in found.items() if v is not None})

    def _expected(self, kind: str, source: str | None, code: list[str]) -> str | None:
        """An identity guard says only an id: of None, True or False, or of a member its enum class knows."""
        if kind != "ID_MATCH" or not source:
            return None
        member_type = type(read(source, self._locals, self._globals))
        found = _OBJECT_ID.search(code[0]) if code else None
        if found is None:
            return None
        if int(found[1]) in _SINGLETONS:
            return _SINGLETONS[int(found[1])]
        members: Any = type_attribute(member_type, "_member_map_")
        members = members if derives(member_type, enum.Enum) else None
        if not is_a(members, dict):
            return None
        return next((told(m)["v"] for m in dict.values(members) if id(m) == int(found[1])), None)

    def _owner(self, source: str | None) -> str | None:
        """What holds the guarded attribute: a "module" (nn.Module), a "class", or another "object"."""
        found = _ATTRIBUTE.fullmatch(source or "")
        if found is None:
            return None
        try:
            holder = read(found[1], self._locals, self._globals)
        except UnreadableError:
            return None
        return _kind_of_holder(holder)

    def _lines(self, source: str | None, kind: str) -> list[Any] | None:
        """User frames behind the guard: of this very kind where torch kept it, else of any on the source."""
        lines = self._entry.lines
        exact = lines.get((source or "", kind))
        if exact:
            return exact
        return next((found for (name, _), found in lines.items() if name == source and found), None)


def _is_tensor_subclass(value: Any) -> bool:
    import torch

    own = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)
    return is_a(value, torch.Tensor) and not is_one_of(type(value), *own)


def _kind_of_holder(holder: Any) -> str:
    import torch

    if is_a(holder, types.ModuleType):
        return "python module"
    if is_a(holder, torch.nn.Module):
        return "module"
    return "class" if is_a(holder, type) else "object"


class _Managers:
    """Guard managers with the source of the value each guards, in torch's own order; ``left``: how many that
    were met are not among them, with all that hangs below.
    """

    def __init__(self, root: Any) -> None:
        self._root = root
        self.left = 0

    def __iter__(self) -> Iterator[tuple[Any, str]]:
        stack, seen = [self._root], 0
        while stack and seen < MAX_LEAVES:
            manager = stack.pop()
            seen += 1
            yield manager, manager.get_source()
            children = list(manager.get_child_managers())
            if hasattr(manager, "get_key_value_managers"):
                for pair in manager.get_key_value_managers().values():
                    children += [m for m in pair if m is not None]
            stack.extend(reversed(children))
        self.left = len(stack)
