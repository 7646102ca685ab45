"""In a program that runs only to be measured: waits for one graph, times it, and ends the program.

The job is JSON: ``out`` (the file for the answer), ``function``, ``line`` and ``frame`` of what was recorded,
``dims`` as ``[source, dimension]``, ``dynamic`` (all dimensions that have to be symbols for these to be),
``sizes`` (rows of ``dims``, most important first), ``hint``, ``rounds``, ``budget_s``. The answer is JSON as
well: what :mod:`compilescope.bucketing.measure` measured, or ``problem``.
"""

from __future__ import annotations

import atexit
import inspect
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch._dynamo.output_graph import OutputGraph
from torch._guards import CompileContext

from compilescope.bucketing._torch import expression
from compilescope.bucketing.compile import CapturedGraph
from compilescope.bucketing.identify import Placeholder, placeholders, shape_env_of
from compilescope.bucketing.inner import InnerCompiler
from compilescope.bucketing.measure import ROUNDS, measure

_INNERS = ("eager", "aot_eager")
_MOST_WRAPPERS = 5


def install(text: str) -> None:
    """Let the next graph of the job's function be measured. Raises what an unreadable job raises."""
    _Job(json.loads(text)).install()


class _Job:
    def __init__(self, job: dict[str, Any]) -> None:
        self._job = job
        self._dims = [(str(source), int(dim)) for source, dim in job["dims"]]
        self._seen: list[str] = []

    def install(self) -> None:
        _make_dynamic([(str(source), int(dim)) for source, dim in self._job["dynamic"]])
        original = OutputGraph.call_user_compiler

        def call_user_compiler(graph: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
            self._look(graph, module, args)
            return original(graph, module, *args, **kwargs)

        OutputGraph.call_user_compiler = call_user_compiler
        atexit.register(self._not_found)

    def _look(self, graph: Any, module: Any, args: Sequence[Any]) -> None:
        _name_sources(graph, module)
        inputs = placeholders(module)
        symbols = _symbols(inputs, self._dims)
        if not self._is_it(graph) or symbols is None:
            return
        if not _claimed(self._job["out"]):
            return
        examples = args[0] if args else graph.example_inputs()
        try:
            answer = self._measured(graph, module, inputs, examples, symbols)
        except Exception as problem:
            answer = {"problem": f"{type(problem).__name__}: {problem}"[:1000]}
        _write(self._job["out"], answer)
        _end()

    def _is_it(self, graph: Any) -> bool:
        compile_id = CompileContext.current_compile_id()
        code = graph.root_tx.f_code
        place = f"{code.co_name} {code.co_filename}:{code.co_firstlineno}"
        self._seen = [*self._seen[-5:], place]
        by_number = compile_id is not None and str(compile_id.frame_id) == self._job["frame"]
        by_place = (code.co_name, code.co_firstlineno) == (self._job["function"], self._job["line"])
        return by_number or by_place

    def _measured(
        self, graph: Any, module: Any, inputs: Any, examples: Sequence[Any], symbols: tuple[Any, ...]
    ) -> dict[str, Any]:
        compiler, name = _compiler(graph.compiler_fn)
        captured = CapturedGraph.of(
            module, inputs, examples, shape_env_of(inputs), CompileContext.current_compile_id()
        )
        job = self._job
        sizes = [tuple(row) for row in job["sizes"]]
        hint = tuple(job["hint"])
        rounds, budget_s = int(job.get("rounds", ROUNDS)), float(job.get("budget_s", 600))
        found = measure(captured, compiler, examples, symbols, sizes, hint, rounds=rounds, budget_s=budget_s)
        return {**asdict(found), "torch": torch.__version__, "backend": name}

    def _not_found(self) -> None:
        """The program ended by itself."""
        if _claimed(self._job["out"]):
            seen = "; ".join(dict.fromkeys(self._seen)) or "none"
            _write(self._job["out"], {"problem": f"it never compiled such a graph; graphs seen: {seen}"})


def _make_dynamic(dims: Sequence[tuple[str, int]]) -> None:
    """The sizes are symbols at the first compile, even of a program that compiles with dynamic=False."""
    from torch._dynamo.variables import builder
    from torch.compiler import config

    # Before dimensions could be named, a source made all of its dimensions dynamic.
    by_dim = "dim" in inspect.signature(builder.is_dynamic_source).parameters
    wanted = [f"{source}:{dim}" if by_dim else source for source, dim in dims]
    config.dynamic_sources = ",".join(filter(None, [config.dynamic_sources, *wanted]))


def _name_sources(graph: Any, module: Any) -> None:
    """What Dynamo does next, and AOTAutograd needs to tell parameters from other inputs."""
    for node in module.graph.nodes:
        if node.op == "placeholder" and not hasattr(node, "_dynamo_source") and "grapharg" in node.meta:
            node._dynamo_source = node.meta["grapharg"].source
    module._param_name_to_source = graph.param_name_to_source


def _symbols(inputs: Sequence[Placeholder], dims: Sequence[tuple[str, int]]) -> tuple[Any, ...] | None:
    """The symbol of each dimension; None where one is not there, or is no symbol of its own."""
    by_source = {each.source: each.value for each in inputs if isinstance(each.value, torch.Tensor)}
    found = []
    for source, dim in dims:
        value = by_source.get(source)
        if value is None or dim >= value.dim():
            return None
        size = expression(value.shape[dim])
        if not size.is_Symbol or size in found:
            return None
        found.append(size)
    return tuple(found)


def _compiler(function: Any) -> tuple[InnerCompiler, str]:
    """What the program compiles with, with its options; Inductor for a backend that we cannot repeat."""
    for _ in range(_MOST_WRAPPERS):
        name = getattr(function, "_compiler_name", None) or getattr(function, "compiler_name", None)
        own = getattr(function, "_compiler", None)
        if isinstance(own, InnerCompiler):
            return own, own.name
        if name == "inductor":
            return InnerCompiler("inductor", options=_options(function)), "inductor"
        if name in _INNERS:
            return InnerCompiler(name), name
        inner = getattr(function, "_torchdynamo_orig_backend", None)
        if inner is None:
            break
        function = inner
    known = getattr(function, "__name__", "")
    if known in _INNERS:
        return InnerCompiler(known), known
    return InnerCompiler("inductor"), f"inductor instead of {known or type(function).__name__}"


def _options(function: Any) -> dict[str, Any]:
    """Of ``_TorchCompileInductorWrapper``; ours has its own CUDA graphs."""
    options = dict(getattr(function, "config", None) or {})
    options.pop("triton.cudagraphs", None)
    return options


def _claimed(out: str) -> bool:
    """Whether this process is the one that answers: the first of all that the program starts."""
    try:
        os.close(os.open(f"{out}.claimed", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:
        return False
    return True


def _write(out: str, answer: dict[str, Any]) -> None:
    beside = Path(f"{out}.{os.getpid()}")
    beside.write_text(json.dumps(answer), encoding="utf-8")
    beside.replace(out)


def _end() -> None:
    """No line of the program runs after the measurement: it was started for nothing else."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
    os._exit(0)
