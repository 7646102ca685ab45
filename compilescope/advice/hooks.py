"""Is a function registered as a hook somewhere in the stored sources?"""

from __future__ import annotations

import re

from compilescope.advice.sources import Sources, called_name, calls_in, dotted

_REGISTERS = re.compile(r"(?:^|\.)register_(?:\w+_)?(?:hook|pre_hook)$")


def is_hook(sources: Sources, function: str) -> bool:
    return any(
        _passes(call, function)
        for file in sources.files()
        if "hook" in (sources.text(file) or "")
        for call in calls_in(sources.tree(file))
        if _REGISTERS.search(called_name(call) or "")
    )


def _passes(call: object, function: str) -> bool:
    names = {(dotted(arg) or "").rsplit(".", 1)[-1] for arg in getattr(call, "args", ())}
    return function in names
