"""Each graph Inductor compiled or took from its cache: forward, backward or inference, and how often it runs.

The wrap sits on ``CompiledFxGraph.post_compile``, which runs on a miss and on a hit alike, so a backward that
came from a cache is counted too.
"""

from __future__ import annotations

from typing import Any

from compilescope.capture._patches import Patch, Wrapper, patch
from compilescope.capture._session import Session

NUMBERS = ("ir_nodes_pre_fusion", "num_bytes_accessed", "generated_kernel_count")


class FxGraph:
    """Calls of one Inductor graph. ``cell`` is written by the hot path."""

    __slots__ = ("cell", "compile_id", "description", "serial")

    def __init__(self, serial: int, compile_id: Any, description: dict[str, Any]) -> None:
        self.serial = serial
        self.compile_id = compile_id
        self.description = description
        self.cell = [0]


class FxGraphs:
    def __init__(self, session: Session) -> None:
        self._session = session
        self.counters: list[FxGraph] = []

    def install(self) -> Patch:
        from torch._inductor.output_code import CompiledFxGraph

        return patch(CompiledFxGraph, "post_compile", self._make)

    def _make(self, original: Wrapper) -> Wrapper:
        session = self._session

        def post_compile(self_: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(self_, *args, **kwargs)
            if session.active:
                session.safely(self._observe, self_)
            return result

        return post_compile

    def _observe(self, compiled: Any) -> None:
        graph = FxGraph(len(self.counters), self._session.current_compile_id(), _describe(compiled))
        graph.description["i"] = graph.serial
        graph.description["ca"] = self._session.compiled_autograd_id()
        self.counters.append(graph)
        self.write(graph)
        function = compiled.current_callable
        if function is not None:
            compiled.current_callable = counting_boxed(function, graph.cell)

    def write(self, graph: FxGraph, *, inherited: bool = False) -> None:
        fields = {**graph.description, "inherited": True} if inherited else graph.description
        self._session.writer.record("fx_graph", {"m": fields}, c=graph.compile_id)


def counting_boxed(function: Any, cell: list[int]) -> Any:
    """``function`` of one argument, the list of inputs, with a counter in front."""

    def run(inputs: Any) -> Any:
        cell[0] += 1
        return function(inputs)

    if hasattr(function, "_boxed_call"):
        run._boxed_call = function._boxed_call  # type: ignore[attr-defined]
    return run


def _describe(compiled: Any) -> dict[str, Any]:
    options = getattr(compiled, "fx_kwargs", None) or {}
    described: dict[str, Any] = {
        "is_backward": bool(options.get("is_backward")),
        "is_inference": bool(options.get("is_inference")),
        "cudagraphs": bool(options.get("cudagraphs")),
        "cache_key": getattr(compiled, "_fx_graph_cache_key", None),
        "code": getattr(compiled, "cache_key", None),
        "devices": sorted(str(d) for d in getattr(compiled, "device_types", None) or ()),
        "cudagraphs_disabled": getattr(compiled, "disabled_cudagraphs_reason", None),
        "mutated_inputs": len(getattr(compiled, "mutated_inputs", None) or ()),
    }
    metrics = getattr(compiled, "metrics_deltas", None)
    described |= {name: getattr(metrics, name, None) for name in NUMBERS}
    return {k: v for k, v in described.items() if v is None or isinstance(v, bool | int | str | list)}
