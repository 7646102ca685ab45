"""References -> values: the one place where a graph's texts are parsed together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from compilescope.model.inductor import autotune, kinds
from compilescope.model.inductor.agreement import Agreement, agreement
from compilescope.model.inductor.aot import aot_graphs
from compilescope.model.inductor.constants import with_constants
from compilescope.model.inductor.cpp_wrapper import cpp_launches, is_cpp_wrapper
from compilescope.model.inductor.crossings import crossings
from compilescope.model.inductor.decompositions import decompositions
from compilescope.model.inductor.fusion import fusion
from compilescope.model.inductor.fx_text import FxGraph, lines_by_name, parse_fx, result_dtypes
from compilescope.model.inductor.kernels import kernels
from compilescope.model.inductor.launches import Walk, walk
from compilescope.model.inductor.memory import memory_plan
from compilescope.model.inductor.output_code import OutputCode, parse_output_code
from compilescope.model.inductor.provenance import Traced, traced_kernels
from compilescope.model.inductor.schedule import (
    Call,
    FileName,
    Schedule,
    parse_calls,
    parse_schedule,
    scheduled_kernels,
)
from compilescope.model.inductor.sources import PROVENANCE, AotSource, GraphSource, Text
from compilescope.model.inductor.tensors import printed_tensor
from compilescope.model.inductor.unfused import NO_REASONS, reasons, unfused
from compilescope.model.inductor.values import AotGraphs, CompiledGraph

NO_CODE = "the generated code is not in the recording"
NOT_PYTHON = "the generated code holds no call that can be read"
CPP_WRAPPER = "the code is of the C++ wrapper: its launches are read, not their operands, sizes and memory"
NO_SCHEDULE = "Inductor's scheduler did not run (a cache hit) or was not recorded: kernels are from the code"
NO_CPP_LINES = "C++ kernels carry no provenance in the code: their lines are known on a cache miss only"


def read_graph(source: GraphSource, file_name: FileName) -> CompiledGraph:
    """Parse everything known of one graph. Never raises for bad texts: ``missing`` says what is absent."""
    text = source.code()
    code = _code(text)
    schedule, calls = _scheduled(source, file_name)
    direction = _direction(source, code, schedule)
    aot = _parse(source.aot.texts.get(f"aot_{direction}_graph"))
    graph = _parse(source.post_grad) or aot
    lines = lines_by_name(_parse(source.dynamo), graph, aot)
    walked = walk(code, lines, result_dtypes(graph))
    by_name = scheduled_kernels(schedule, calls)
    schedule = with_constants(schedule, code, walked)
    info = autotune.kernel_info(source.triton_info() if source.triton_info else None)
    launches = walked.launches or cpp_launches(text or "", lines)
    found = kernels(code, launches, lines, by_name, info, _traced(source, graph))
    annotations = {name: printed_tensor(a) for name, (a, _) in graph.inputs.items()} if graph else {}
    return CompiledGraph(
        key=source.key,
        direction=direction,
        code=source.stem,
        serial=_int(source.described.get("i")),
        cached=None if source.cache is None else source.cache == "hit",
        kernels=found,
        launches=launches,
        fusion=replace(
            fusion(code, walked, graph, schedule, _int(source.described.get("ir_nodes_pre_fusion"))),
            kernels=sum(launch.kind != kinds.COLLECTIVE_WAIT for launch in launches),
            **_unfused(source, schedule, walked),
        ),
        memory=memory_plan(walked, code.hints) if code.functions else None,
        crossings=crossings(walked, graph, (node for kernel in found for node in kernel.nodes)),
        inputs={**{n: t for n, t in annotations.items() if t is not None}, **code.inputs},
        hints=code.hints,
        missing=_missing(text, code, schedule, found),
        decompositions=decompositions(found),
    )


def read_aot(source: AotSource) -> AotGraphs:
    graphs = {
        kind.split("_")[1]: _parse(text) for kind, text in source.texts.items() if kind.endswith("_graph")
    }
    metadata = source.texts.get("aot_forward_graph_fw_metadata")
    return aot_graphs(
        joint=graphs.get("joint"),
        forward=graphs.get("forward"),
        backward=graphs.get("backward"),
        inference=graphs.get("inference"),
        metadata=metadata() if metadata else None,
    )


def compare(source: GraphSource, file_name: FileName) -> Agreement | None:
    """Code against scheduler, each read alone; None where only one of them is there."""
    schedule, calls = _scheduled(source, file_name)
    if schedule is None:
        return None
    text = source.code()
    code = _code(text)
    launches = walk(code).launches or cpp_launches(text or "", {})
    return agreement(kernels(code, launches, {}), scheduled_kernels(schedule, calls))


def _code(text: str | None) -> OutputCode:
    """Python in the C++ wrapper's file only starts it: none of its functions is of the graph."""
    code = parse_output_code(text or "")
    return replace(code, functions={}) if is_cpp_wrapper(text or "") else code


def _scheduled(source: GraphSource, file_name: FileName) -> tuple[Schedule | None, list[Call]]:
    if source.schedule is None:
        return None, []
    summary, rows = source.schedule
    calls = [call for text in source.calls for call in parse_calls(text())]
    return parse_schedule(summary, rows(), file_name), calls


def _traced(source: GraphSource, graph: FxGraph | None) -> dict[str, Traced]:
    mappings, stacks = (source.provenance.get(name) for name in PROVENANCE)
    return traced_kernels(mappings() if mappings else None, stacks() if stacks else None, graph)


def _unfused(source: GraphSource, schedule: Schedule | None, walked: Walk) -> dict[str, Any]:
    if source.unfused is None:
        return {"unfused_missing": NO_REASONS if schedule is None else None}
    m, text = source.unfused
    return {"unfused": unfused(schedule, text(), walked.tensors), "unfused_reasons": reasons(m)}


def _parse(text: Text | None) -> FxGraph | None:
    found = text() if text is not None else None
    return parse_fx(found) if found else None


def _direction(source: GraphSource, code: OutputCode, schedule: Schedule | None) -> str:
    described = source.described
    if described:
        if described.get("is_backward"):
            return "backward"
        return "inference" if described.get("is_inference") else "forward"
    return code.direction or (schedule.direction if schedule else "unknown")


def _missing(
    text: str | None, code: OutputCode, schedule: Schedule | None, found: tuple[Any, ...]
) -> tuple[str, ...]:
    if text is None:
        return (NO_CODE,)
    reasons = [] if code.functions else [CPP_WRAPPER if is_cpp_wrapper(text) else NOT_PYTHON]
    if schedule is None:
        reasons.append(NO_SCHEDULE)
        if any(kernel.kind.startswith("c++") and not kernel.nodes_from for kernel in found):
            reasons.append(NO_CPP_LINES)
    return tuple(reasons)


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
