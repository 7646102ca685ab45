"""Launches in the code of the C++ wrapper (``cpp_wrapper=True``): names, kinds and provenance comments.

Operands are not followed there, so there are no shapes, bytes or memory plan of its own. A library call is
named after the C shim of torch (``aoti_torch_cpu_mm_out``), which joins operator and overload.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from compilescope.model.inductor import kinds
from compilescope.model.inductor.launches import Lines
from compilescope.model.inductor.values import Launch

_ENTRY = re.compile(r"^\s*void inductor_entry_impl\(|^\s*void AOTInductorModel::run_impl\(", re.MULTILINE)
_END = re.compile(r"^\}", re.MULTILINE)
_COMMENT = re.compile(
    r"^// Topologically Sorted Source Nodes: \[([^\]]*)\](?:, Original ATen: \[([^\]]*)\])?"
)
_CPP = re.compile(r"^(?:\w+::)?(cpp_fused_\w+)\(")
_TRITON = re.compile(r"^(?:call_|launchKernel\((?:kernels_?(?:\.|->))?)(triton_\w+)\b")
_SHIM = re.compile(r"aoti_torch_(?:cpu|cuda|xpu|mps)_(\w+)\(")
_DISPATCHED = re.compile(r'aoti_torch_call_dispatcher\("(\w+)::(\w+)", "(\w*)"')
_PROXY = re.compile(r"aoti_torch_proxy_executor_call_function\(")
_DATA = frozenset({"copy_", "zero_"})


def is_cpp_wrapper(text: str) -> bool:
    return _ENTRY.search(text) is not None


def cpp_launches(text: str, lines: Lines) -> tuple[Launch, ...]:
    """In order; empty for code that is something else. Never raises."""
    entry = _ENTRY.search(text)
    if entry is None:
        return ()
    end = _END.search(text, entry.end())
    return tuple(_launches(text[entry.end() : end.start() if end else len(text)], lines))


def _launches(body: str, lines: Lines) -> Iterator[Launch]:
    sources: tuple[str, ...] = ()
    aten: tuple[str, ...] = ()
    for line in body.split("\n"):
        statement = line.strip()
        if comment := _COMMENT.match(statement):
            sources, aten = (_names(comment[i]) for i in (1, 2))
            continue
        launched = _recognized(statement)
        if launched is None:
            continue
        name, kind = launched
        own = sources if kind in (kinds.CPP_LOOP, *kinds.OF_PREFIX.values()) else sources[-1:]
        found = dict.fromkeys(lines[source] for source in own if source in lines)
        yield Launch(name, kind, "call", (), sources, aten, tuple(found), None, statement)
        sources, aten = (), ()


def _recognized(statement: str) -> tuple[str, str] | None:
    if found := _CPP.match(statement):
        return found[1], kinds.CPP_LOOP
    if found := _TRITON.match(statement):
        return found[1], kinds.of_triton_name(found[1])
    if found := _DISPATCHED.search(statement):
        name = f"torch.ops.{found[1]}.{found[2]}.{found[3] or 'default'}"
        return name, kinds.of_extern(name)
    if _PROXY.search(statement):
        return "aoti_torch_proxy_executor_call_function", kinds.FALLBACK
    found = _SHIM.search(statement)
    if found is None:
        return None
    if found[1] in _DATA:
        return (found[1], kinds.COPY) if found[1] == "copy_" else None
    name = f"extern_kernels.{found[1].removesuffix('_out')}"
    if not found[1].endswith("_out"):
        name = f"torch.ops.aten.{found[1]}"
    return name, kinds.of_extern(name)


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name for word in (text or "").split(",") if (name := word.strip()))
