"""What a kernel's own source says: the roles and types of its arguments, its kind, its configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from compilescope.model.inductor import kinds
from compilescope.model.inductor._text import arguments
from compilescope.model.inductor.output_code import Definition
from compilescope.model.inductor.tensors import dtype_of
from compilescope.model.inductor.values import FxNode

_HEURISTIC = re.compile(r"@triton_heuristics\.(\w+)\(")
_SIGNATURE = re.compile(r"'signature': \{([^}]*)\}")
_PAIR = re.compile(r"'(\w+)': '(\*?[\w:]+)'")
_MUTATED = re.compile(r"'mutated_arg_names': \[([^\]]*)\]")
_GRID = re.compile(r"'grid_type': '(\w+)'")
_SIZE_HINTS = re.compile(r"size_hints=\{([^}]*)\}")
_HINT = re.compile(r"'(\w+)': (\d+)")
_CONSTEXPR = re.compile(r"^    ([A-Z][A-Z0-9_]*)\s*:\s*tl\.constexpr = (.+)$", re.M)
_LAUNCH = re.compile(r"^(num_warps|num_stages)=(\d+)", re.M)
_TRITON_DEF = re.compile(r"^def (\w+)\(", re.M)
_CPP_KERNEL = re.compile(r'extern "C"[^(]*?\bkernel\(')
_MICRO_GEMM = re.compile(r"\bmicro_gemm|_micro_gemm\b|cpp_\w*MicroGemm|kernel_micro_gemm")
_FRAGMENT = re.compile(r"^#   %(\w+) : .*?call_function\[target=(?:torch\.ops\.)?([\w.<>]+)\]")


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    role: str  # in | out | inout | size
    dtype: str | None


@dataclass(frozen=True, slots=True)
class Signature:
    kind: str
    parameters: tuple[Parameter, ...] = ()
    grid: str | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    size_hints: Mapping[str, str] = field(default_factory=dict)
    nodes: tuple[FxNode, ...] = ()


def signature(definition: Definition) -> Signature:
    if definition.language in ("triton", "multi_kernel"):
        return _triton(definition)
    if definition.language.startswith("cpp"):
        kind = kinds.CPP_TEMPLATE if _MICRO_GEMM.search(definition.source) else kinds.CPP_LOOP
        return Signature(kind, _cpp_parameters(definition.source))
    if definition.language in ("cuda", "cutlass"):
        return Signature(kinds.CUTLASS)
    return Signature(kinds.OTHER_COMPILED)


def _triton(definition: Definition) -> Signature:
    source = definition.source
    heuristic = _HEURISTIC.search(source)
    by_name = kinds.of_triton_name(definition.name)
    kind = kinds.OF_HEURISTIC.get(heuristic.group(1), by_name) if heuristic else by_name
    grid = _GRID.search(source)
    hints = _SIZE_HINTS.search(source)
    return Signature(
        kind,
        _triton_parameters(source),
        grid.group(1) if grid else None,
        {**dict(_CONSTEXPR.findall(source)), **dict(_LAUNCH.findall(source))},
        dict(_HINT.findall(hints.group(1))) if hints else {},
        tuple(FxNode(m[1], m[2]) for m in map(_FRAGMENT.match, definition.comments) if m),
    )


def _triton_parameters(source: str) -> tuple[Parameter, ...]:
    found = list(_TRITON_DEF.finditer(source))
    if not found:
        return ()
    names = [piece.split(":")[0].strip() for piece in arguments(source, found[-1].end())[0]]
    signature_text = _SIGNATURE.search(source)
    types = dict(_PAIR.findall(signature_text.group(1))) if signature_text else {}
    mutated = _MUTATED.search(source)
    written = set(re.findall(r"'(\w+)'", mutated.group(1))) if mutated else set()
    return tuple(_parameter(name, types.get(name, ""), name in written) for name in names)


def _parameter(name: str, declared: str, written: bool) -> Parameter:
    if not declared.startswith("*"):
        return Parameter(name, "size", None)
    return Parameter(name, _role(name, written), dtype_of(declared[1:]))


def _role(name: str, written: bool) -> str:
    """Inductor's names say it; of the arguments of a user's kernel only that they may be written is known."""
    for prefix, role in (("in_out_ptr", "inout"), ("in_ptr", "in"), ("out_ptr", "out"), ("arg_", "in")):
        if name.startswith(prefix):
            return role
    return "inout" if written else "in"


def _cpp_parameters(source: str) -> tuple[Parameter, ...]:
    found = _CPP_KERNEL.search(source)
    if not found:
        return ()
    return tuple(_cpp_parameter(piece) for piece in arguments(source, found.end())[0])


def _cpp_parameter(piece: str) -> Parameter:
    """``const float* in_ptr0`` is read; ``float* in_out_ptr0`` both; ``float* Y`` written."""
    words = piece.replace("*", " * ").replace("__restrict__", "").split()
    name = words[-1] if words else "?"
    if "*" not in words:
        return Parameter(name, "size", None)
    kind = next((w for w in words if w not in ("const", "*", name)), "")
    role = "in" if "const" in words else "inout" if name.startswith("in_out_ptr") else "out"
    return Parameter(name, role, dtype_of(kind))
