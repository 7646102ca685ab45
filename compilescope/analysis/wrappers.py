"""The program's function inside a wrapper of torch's.

Of ``@torch.compile`` above ``@torch.no_grad()`` Dynamo compiles a frame of torch's own, ``inner(*args,
**kwargs)``: what the program wrote is called from there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from compilescope.analysis.change import Change
from compilescope.analysis.scopes import Scopes
from compilescope.model import CompileTarget, Location

_WRAPPER = ("torch/_dynamo/external_utils.py", "inner")
_FUNCTION = "builtins.function"
_POSITIONAL = re.compile(r"\bargs\[(\d+)\]")
_BY_NAME = re.compile(r"\bkwargs\['(\w+)'\]")
_INSIDE = re.compile(r"fn\b(?!.*\bargs\b)")
SEVERAL = "the function under a decorator of torch"
_PACKS = frozenset(("args", "kwargs"))


def is_wrapper(code: Location) -> bool:
    file, function = _WRAPPER
    return code.function == function and code.file.endswith(file)


def wrapped(
    targets: Sequence[CompileTarget], scopes: Scopes, *, is_torch: Callable[[str], bool]
) -> Location | None:
    """What was compiled through a wrapper, where that is one function: all wrappers share one code object."""
    own = {
        (t.target, t.name, t.call[:1])
        for t in targets
        if t.target.startswith("torch.") or (t.location is not None and is_torch(t.location.file))
    }
    if len(own) != 1:
        return None
    target, name, call = own.pop()
    if target != _FUNCTION or name is None or not call or is_torch(call[0].file):
        return None
    place = call[0]
    starts = scopes.starts_of(place.file, name)
    around = [start for start in starts if scopes.start_of(place.file, place.line) == start]
    line = (around or starts)[0] if len(around or starts) == 1 else place.line
    return Location(place.file, line, name)


def inside(change: Change) -> Change:
    """Another function in the same wrapper: all functions under a decorator of torch's share its code object,
    so that each is one more entry of it.
    """
    if change.kind in ("code", "identity") and _INSIDE.match(change.source):
        return replace(change, kind="code", source=SEVERAL, root=None, holder=None)
    return change


def unpacked(change: Change, names: Sequence[str]) -> Change:
    """``args[0]`` of the wrapper as the parameter of the function inside: ``decay``."""
    if change.root not in _PACKS:
        return change
    source = _plain(change.source, names)
    root = re.split(r"[.\[ ]", source.removeprefix("len("))[0]
    holder = "argument" if source == root and source != change.source else change.holder
    old, new = (_plain(v, names) if isinstance(v, str) else v for v in (change.old, change.new))
    return replace(change, source=source, old=old, new=new, root=root, holder=holder)


def _plain(text: str, names: Sequence[str]) -> str:
    def positional(found: re.Match[str]) -> str:
        at = int(found[1])
        return names[at] if at < len(names) else found[0]

    return _BY_NAME.sub(r"\1", _POSITIONAL.sub(positional, text))
