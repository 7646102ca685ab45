"""Whether the program itself passes what changed, or an installed library makes it on the way."""

from __future__ import annotations

import ast
import re

from compilescope.advice.cause import CALL, OF_TENSORS
from compilescope.advice.facts import Facts
from compilescope.advice.library import is_installed
from compilescope.advice.sources import calls_in, compiled_names, dotted
from compilescope.analysis.report import Recompile

_ARGUMENT = re.compile(r"(?:args\[\d+\]|kwargs\['(\w+)'\]|(\w+))(?: (?:stride )?dim \d+)?")


def made_inside(facts: Facts, row: Recompile) -> bool:
    """True for an input of a library's function that the line of the program does not pass by itself:
    ``trainer.train()``, ``model.generate(prompt)``. There a mark, a cast or a copy has no place. The model
    itself is the program's own.
    """
    of_call = row.kind in OF_TENSORS or (row.kind == "value" and not row.source.startswith("self."))
    if not of_call or not is_installed(row.file):
        return False
    argument = _ARGUMENT.fullmatch(row.source)
    caller = CALL.fullmatch(row.called_from or "")
    if argument is None or caller is None or is_installed(caller["file"]):
        return True
    statement = facts.sources.statement_at(caller["file"], int(caller["line"]))
    compiled = compiled_names(facts.sources.tree(caller["file"]))
    names = [name for name in argument.groups() if name]
    return not any(_passes(call, names, compiled) for call in calls_in(statement))


def _passes(call: ast.Call, names: list[str], compiled: set[str]) -> bool:
    """Is it a call of the model itself, or does it name the argument?"""
    function = dotted(call.func) or ""
    is_model = function in compiled or "." not in function or function.count(".") == function.count("self.")
    return is_model or any(keyword.arg in names for keyword in call.keywords)
