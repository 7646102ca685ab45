"""Is a function registered as a hook somewhere in the stored sources?"""

from __future__ import annotations

import ast
import re

from compilescope.advice.sources import Sources, called_name, dotted

_REGISTERS = re.compile(r"(?:^|\.)register_(?:\w+_)?(?:hook|pre_hook)$")


def is_hook(sources: Sources, function: str) -> bool:
    return any(
        _passes(call, function) for _, call in sources.calls() if _REGISTERS.search(called_name(call) or "")
    )


def _passes(call: ast.Call, function: str) -> bool:
    names = {(dotted(arg) or "").rsplit(".", 1)[-1] for arg in call.args}
    return function in names
