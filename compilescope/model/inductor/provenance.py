"""What torch's own provenance tracking says of a kernel: its nodes and lines, from a cache too.

It is off unless asked for (``INDUCTOR_PROVENANCE=1``, ``compilescope run --provenance``): from torch 2.13 on
the level is a part of the FX graph cache's key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from compilescope.model.inductor.fx_text import FxGraph
from compilescope.model.inductor.values import FxNode, SourceLine

_FRAME = re.compile(r'File "([^"\n]+)", line (\d+), in ([^\n]+)(?:\n\s*([^\n]+))?')
_TORCH = "/torch/"
Traced = tuple[tuple[FxNode, ...], tuple[SourceLine, ...]]


def traced_kernels(mappings: str | None, stacks: str | None, graph: FxGraph | None) -> dict[str, Traced]:
    """Kernel -> (nodes, lines). ``graph``: the one after the joint passes, which names the operators.

    Torch numbers a kernel's calls (``extern_kernels.mm:1``): those of one function are put together.
    """
    ops = {node.name: node.op for node in graph.nodes} if graph else {}
    nodes: dict[str, dict[FxNode, None]] = {}
    lines: dict[str, dict[SourceLine, None]] = {}
    for call, names in _items(_object(mappings).get("cppCodeToPost")):
        own = nodes.setdefault(_kernel(call), {})
        own |= dict.fromkeys(FxNode(name, ops.get(name, "")) for name in names)
    for call, traces in _items(_object(stacks)):
        found = (_innermost(trace) for trace in traces)
        lines.setdefault(_kernel(call), {}).update({line: None for line in found if line is not None})
    return {name: (tuple(nodes.get(name, ())), tuple(lines.get(name, ()))) for name in {**nodes, **lines}}


def _kernel(call: str) -> str:
    name, _, number = call.rpartition(":")
    return name if name and number.isdigit() else call


def _innermost(trace: str) -> SourceLine | None:
    """The last frame outside torch; of frames of torch alone the last one."""
    frames = _FRAME.findall(trace)
    own = [frame for frame in frames if _TORCH not in frame[0]] or frames
    if not own:
        return None
    file, line, function, code = own[-1]
    return SourceLine(file, int(line), function.strip(), code.strip())


def _items(value: Any) -> list[tuple[str, list[str]]]:
    if not isinstance(value, Mapping):
        return []
    return [(str(k), [str(n) for n in names]) for k, names in value.items() if isinstance(names, list)]


def _object(text: str | None) -> Mapping[str, Any]:
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, Mapping) else {}
