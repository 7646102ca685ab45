"""Kernels of a graph: launches of the same function put together, with what they are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from compilescope.model.inductor import kinds
from compilescope.model.inductor._signature import Signature, signature
from compilescope.model.inductor._text import arguments
from compilescope.model.inductor.launches import Lines
from compilescope.model.inductor.output_code import OutputCode
from compilescope.model.inductor.provenance import Traced
from compilescope.model.inductor.schedule import ScheduledKernel
from compilescope.model.inductor.sizes import Size
from compilescope.model.inductor.values import FxNode, Kernel, Launch, SourceLine

_TEMPLATE_OPS = ("addmm", "baddbmm", "bmm", "mm", "convolution", "flex_attention", "_mkl_linear", "linear")
_VIEWS = frozenset(
    {"permute", "t", "transpose", "view", "reshape", "expand", "unsqueeze", "squeeze", "getitem"}
)


def kernels(
    code: OutputCode,
    launches: Sequence[Launch],
    lines: Lines,
    scheduled: Mapping[str, ScheduledKernel] | None = None,
    triton_info: Mapping[str, Any] | None = None,
    traced: Mapping[str, Traced] | None = None,
) -> tuple[Kernel, ...]:
    """In order of first launch. ``scheduled``: what Inductor's scheduler said of a kernel, on a cache miss;
    ``triton_info``: the `triton_kernel_info` artifact of the compile; ``traced``: torch's own provenance.
    """
    by_name: dict[str, list[Launch]] = {}
    for launch in launches:
        by_name.setdefault(launch.kernel, []).append(launch)
    signatures = {n: signature(code.definitions[n]) for n in by_name if n in code.definitions}
    return tuple(
        _kernel(
            name,
            own,
            signatures.get(name),
            lines,
            (scheduled or {}).get(name),
            (triton_info or {}).get(name),
            (traced or {}).get(name),
        )
        for name, own in by_name.items()
    )


def _kernel(
    name: str,
    launches: list[Launch],
    own: Signature | None,
    lines: Lines,
    scheduled: ScheduledKernel | None,
    info: Any,
    traced: Traced | None,
) -> Kernel:
    first = launches[0]
    tensors = first.shapes
    device = next((t.device for t in tensors if t.device), scheduled.device if scheduled else None)
    nodes, user_lines, source = _provenance(launches, own, lines, scheduled, traced)
    template = _template(first, nodes) if first.kind in kinds.TEMPLATES else None
    return Kernel(
        name=name,
        kind=first.kind,
        library=kinds.library_of(name, first.kind, device),
        launches=len(launches),
        nodes=nodes,
        aten=_aten(launches, nodes),
        lines=user_lines,
        device=device,
        dtypes=tuple(dict.fromkeys(t.dtype for t in tensors if t.dtype)),
        shapes=tensors,
        grid=_grid(first, own),
        config=_config(own, info),
        size_hints=own.size_hints if own else {},
        template=template,
        epilogue=_epilogue(nodes, template) if template else (),
        bytes_moved=_total(launch.bytes_moved for launch in launches),
        nodes_from=source,
    )


def _provenance(
    launches: list[Launch],
    own: Signature | None,
    lines: Lines,
    scheduled: ScheduledKernel | None,
    traced: Traced | None,
) -> tuple[tuple[FxNode, ...], tuple[SourceLine, ...], str | None]:
    """From the scheduler where it ran; else torch's own, if it was on; else from the comments in the code,
    which C++ kernels lack.
    """
    if scheduled is not None and scheduled.nodes:
        return scheduled.nodes, scheduled.lines, "scheduler"
    if traced is not None and any(traced):
        return *traced, "provenance"
    nodes = own.nodes if own else ()
    found = {lines[node.name]: None for node in nodes if node.name in lines}
    for launch in launches:
        found |= dict.fromkeys(launch.lines)
    known = bool(nodes or any(launch.sources for launch in launches))
    return nodes, tuple(found), "code" if known else None


def _aten(launches: list[Launch], nodes: tuple[FxNode, ...]) -> tuple[str, ...]:
    if any(launch.aten for launch in launches):
        return tuple(dict.fromkeys(op for launch in launches for op in launch.aten))
    return tuple(dict.fromkeys(_op(node) for node in nodes))


def _op(node: FxNode) -> str:
    """``aten.mul.Tensor`` -> ``aten.mul``."""
    return ".".join(node.op.split(".")[:2])


def _template(launch: Launch, nodes: tuple[FxNode, ...]) -> str | None:
    words = [part for node in nodes for part in node.op.split(".")] or [a.split(".")[-1] for a in launch.aten]
    words += launch.kernel.split("_fused_")[-1].split("_")
    return next((op for op in _TEMPLATE_OPS if op in words), None)


def _epilogue(nodes: tuple[FxNode, ...], template: str) -> tuple[str, ...]:
    """Ops behind the template's own in the order of the graph, as they appear in the kernel's fragment."""
    at = next((i for i, node in enumerate(nodes) if template in node.op.split(".")), None)
    if at is None:
        return ()
    ops = (_op(node) for node in nodes[at + 1 :])
    return tuple(dict.fromkeys(op for op in ops if op.split(".")[-1] not in _VIEWS))


def _grid(launch: Launch, own: Signature | None) -> str | None:
    """A template's grid is written out at its launch; of other kernels the shape of the grid is known."""
    if own is not None and launch.kind == kinds.TEMPLATE and ".run(" in launch.text:
        pieces = arguments(launch.text, launch.text.index(".run(") + 5)[0]
        numbers = [piece for piece in pieces[len(own.parameters) :] if "=" not in piece]
        if len(numbers) == 3:
            return " x ".join(numbers)
    return own.grid if own else None


def _config(own: Signature | None, info: Any) -> dict[str, str]:
    found = dict(own.config) if own else {}
    only = info.get("only_config") if isinstance(info, Mapping) else None
    for pair in only if isinstance(only, list) else ():
        if isinstance(pair, list) and len(pair) == 2:
            found[str(pair[0])] = str(pair[1])
    return found


def _total(sizes: Iterable[Size | None]) -> Size | None:
    known = [found for found in sizes if found is not None]
    total = known[0] if known else None
    for found in known[1:]:
        total = total + found if total is not None else found
    return total
