"""Autotuning: candidates with timings from capture's records, the winner alone from torch's phases.

A Triton template's time does not contain an epilogue that is fused later, and the fastest candidate is not
always the one in the code (fusing an epilogue is benchmarked afterwards): the kernels of the graph tell.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from compilescope.model.inductor.values import Autotuning, Choice, GraphKey, TritonTuning

PHASE_SUFFIX = "_template_autotuning"
_STRIDES = re.compile(r"\[[^\]]*\]|\([^)]*\)")
_TYPES = {
    "TritonTemplateCaller": "triton",
    "ExternKernelCaller": "extern",
    "DataProcessorChoiceCallerWrapper": "cpp",
    "CppTemplateCaller": "cpp",
    "CUDATemplateCaller": "cutlass",
    "CUTLASSTemplateCaller": "cutlass",
}


def from_record(m: Mapping[str, Any]) -> Autotuning:
    """An `autotune` record: every candidate. Fields that are not what they should be are left out."""
    choices = [_choice(row) for row in _rows(m.get("choices"))]
    inputs = _rows(m.get("inputs"))
    failures = m.get("failures")
    return Autotuning(
        op=str(m.get("name")),
        shapes=tuple("x".join(_words(row.get("size"))) for row in inputs),
        dtypes=tuple(str(row.get("dtype")) for row in inputs),
        strides=tuple(f"[{', '.join(_words(row.get('stride')))}]" for row in inputs),
        hinted=(),
        count=_number(m.get("count")) or len(choices),
        choices=tuple(sorted(choices, key=_rank)),
        tuning_s=None,
        failures=tuple(str(t) for t in failures) if isinstance(failures, list) else (),
        node=node if isinstance(node := m.get("node"), str) else None,
        place=_place(m.get("line")),
        backward=backward if isinstance(backward := m.get("is_backward"), bool) else None,
        compiled=_number(m.get("compiled")),
        compiled_s=_time(m.get("compiled_s")),
    )


def from_phase(name: str, duration_us: float, args: Mapping[str, Any]) -> Autotuning | None:
    """A row of `phases`: the winner, and the best Triton candidate where another one won. Else None."""
    if not name.endswith(PHASE_SUFFIX) or "autotune_shape" not in args:
        return None
    stats = _stats(args.get("autotune_choices_stats"))
    best = _named(stats, "best_kernel", "best_time", "best_kernel_desc")
    triton = _named(stats, "best_triton_kernel", "best_triton_time", "best_triton_kernel_desc")
    return Autotuning(
        op=name.removesuffix(PHASE_SUFFIX),
        shapes=tuple(str(args["autotune_shape"]).split(", ")),
        dtypes=tuple(d.removeprefix("torch.") for d in str(args.get("autotune_dtypes", "")).split(", ")),
        strides=tuple(_STRIDES.findall(str(args.get("autotune_strides", "")))),
        hinted=tuple(str(args.get("autotune_shape_hinted", "")).split(", ")),
        count=_number(stats.get("num_choices")) or 0,
        choices=tuple(c for c in (best, triton) if c is not None),
        tuning_s=duration_us / 1e6 if duration_us >= 0 else None,
    )


def merged(records: Iterable[Autotuning], phases: Iterable[Autotuning]) -> tuple[Autotuning, ...]:
    """Records, each with the duration and hints of the phase of the same op and shapes; phases without a
    record stand alone. A record without a phase came from the autotuning cache.
    """
    waiting = list(phases)
    found = []
    for record in records:
        twin = next((p for p in waiting if (p.op, p.shapes) == (record.op, record.shapes)), None)
        if twin is not None:
            waiting.remove(twin)
            record = replace(record, tuning_s=twin.tuning_s, hinted=twin.hinted)
        found.append(record)
    return (*found, *waiting)


def triton_tuning(m: Mapping[str, Any], key: GraphKey | None = None) -> TritonTuning:
    """A `triton_autotune` record."""
    choices = [_config(row) for row in _rows(m.get("configs"))]
    count = max(_number(m.get("count")) or 0, len(choices))
    return TritonTuning(str(m.get("kernel")), tuple(sorted(choices, key=_rank)), key, count)


def kernel_info(text: str | None) -> Mapping[str, Any]:
    """The `triton_kernel_info` artifact; empty if it is not readable."""
    return _stats(text)


def _rank(choice: Choice) -> tuple[bool, float]:
    return (choice.time_ms is None, choice.time_ms or 0.0)


def _choice(row: Mapping[str, Any]) -> Choice:
    name, type_name = str(row.get("name")), str(row.get("type"))
    milliseconds = _time(row.get("ms"))
    backend = _TYPES.get(type_name) or backend_of(name)
    config, why = str(row.get("config") or ""), str(row.get("why") or "")
    return Choice(name, backend, milliseconds, bool(row.get("failed")), config, why)


def _place(row: Any) -> tuple[int, int, str] | None:
    if not isinstance(row, list) or len(row) != 3 or not all(isinstance(n, int) for n in row[:2]):
        return None
    return row[0], row[1], str(row[2])


def _config(row: Mapping[str, Any]) -> Choice:
    config = row.get("config")
    facts: dict[str, Any] = dict(config) if isinstance(config, Mapping) else {}
    facts |= {k: row[k] for k in ("n_regs", "n_spills", "shared") if k in row}
    described = ", ".join(f"{k}={v}" for k, v in facts.items())
    return Choice(described, "triton", _time(row.get("ms")), bool(row.get("failed")), described)


def _named(stats: Mapping[str, Any], name: str, time: str, config: str) -> Choice | None:
    found = stats.get(name)
    if not isinstance(found, str):
        return None
    return Choice(found, backend_of(found), _time(stats.get(time)), False, str(stats.get(config) or ""))


def backend_of(name: str) -> str:
    if name.startswith("triton_"):
        return "triton"
    if name.startswith("cpp_"):
        return "cpp"
    return "cutlass" if name.startswith(("cutlass", "cuda_")) else "extern"


def _stats(text: Any) -> Mapping[str, Any]:
    try:
        found = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, Mapping) else {}


def _rows(value: Any) -> list[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, Sequence) else []


def _words(value: Any) -> list[str]:
    return [str(v) for v in value] if isinstance(value, list) else []


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _time(value: Any) -> float | None:
    is_time = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_time and math.isfinite(value) and value >= 0 else None
