"""The field's words for what a graph launches."""

from __future__ import annotations

import re
from collections.abc import Mapping

POINTWISE = "triton pointwise"
REDUCTION = "triton reduction"
PERSISTENT = "triton persistent reduction"
FOREACH = "triton foreach"
TEMPLATE = "triton template"
USER_TRITON = "triton user kernel"
SCAN = "triton scan"
MULTI = "triton multi-kernel"
OTHER_COMPILED = "compiled kernel"
GEMM = "extern gemm"
CONVOLUTION = "extern convolution"
ATTENTION = "extern attention"
FALLBACK = "aten fallback"
CUSTOM_OP = "custom op"
COLLECTIVE = "collective"
COLLECTIVE_WAIT = "collective wait"
COPY = "copy"
CPP_LOOP = "c++ loop"
CPP_TEMPLATE = "c++ gemm template"
CUTLASS = "cutlass template"

LIBRARY_KINDS = frozenset({GEMM, CONVOLUTION, ATTENTION})
TEMPLATES = frozenset({TEMPLATE, CPP_TEMPLATE, CUTLASS})

# ``@triton_heuristics.<this>(`` in front of a kernel's source.
OF_HEURISTIC: Mapping[str, str] = {
    "pointwise": POINTWISE,
    "reduction": REDUCTION,
    "cooperative_reduction": REDUCTION,
    "persistent_reduction": PERSISTENT,
    "foreach": FOREACH,
    "template": TEMPLATE,
    "fixed_config": TEMPLATE,
    "user_autotune": USER_TRITON,
    "split_scan": SCAN,
}
# The prefix Inductor gives a kernel's name.
OF_PREFIX: Mapping[str, str] = {
    "triton_poi_": POINTWISE,
    "triton_red_": REDUCTION,
    "triton_per_": PERSISTENT,
    "triton_for_": FOREACH,
    "triton_tem_": TEMPLATE,
    "triton_spl_": SCAN,
    "multi_kernel_": MULTI,
}
_GEMMS = frozenset(
    {
        "mm",
        "addmm",
        "bias_addmm",
        "bmm",
        "baddbmm",
        "mm_plus_mm",
        "_int_mm",
        "_scaled_mm",
        "_scaled_grouped_mm",
        "_grouped_mm",
        "addmv",
        "mv",
        "dot",
        "_mkl_linear",
        "_linear_pointwise",
        "_qlinear_pointwise",
        "_weight_int8pack_mm",
        "_weight_int4pack_mm",
        "_weight_int4pack_mm_for_cpu",
        "_sparse_semi_structured_mm",
        "_sparse_semi_structured_addmm",
        "onednn_linear",
    }
)
_TORCH_NAMESPACES = frozenset(
    {
        "aten",
        "prims",
        "mkldnn",
        "mkl",
        "onednn",
        "quantized",
        "_quantized",
        "inductor",
        "xpu",
        "c10d",
        "rngprims",
    }
)
_COLLECTIVE_NAMESPACES = frozenset(
    {"_c10d_functional", "_c10d_functional_autograd", "c10d_functional", "symm_mem"}
)
_OP = re.compile(r"^(?:torch\.ops\.)?(\w+)\.(\w+)")


def of_triton_name(name: str) -> str:
    """By the prefix of a kernel's name; a name without one is a kernel the user wrote."""
    for prefix, kind in OF_PREFIX.items():
        if name.startswith(prefix):
            return kind
    return USER_TRITON


def of_extern(name: str) -> str:
    """``extern_kernels.mm``, ``torch.ops.aten.sort.stable``, ``torch.ops.my.op.default`` -> its kind."""
    found = _OP.match(name)
    if not found:
        return FALLBACK
    namespace, op = found.groups()
    if namespace in _COLLECTIVE_NAMESPACES:
        return COLLECTIVE_WAIT if op.startswith("wait_tensor") else COLLECTIVE
    if op in _GEMMS:
        return GEMM
    if "convolution" in op or "conv_transpose" in op:
        return CONVOLUTION
    if "attention" in op and namespace in {"aten", "extern_kernels"}:
        return ATTENTION
    if namespace in _TORCH_NAMESPACES or namespace == "extern_kernels":
        return FALLBACK
    return CUSTOM_OP


def library_of(name: str, kind: str, device: str | None) -> str | None:
    """Whose code runs, as far as the name and the device tell. None: not a library's, or not known.

    PyTorch picks cuBLASLt or cuBLAS, and cuDNN or its own convolution, when it runs.
    """
    if kind == ATTENTION:
        return _attention_library(name)
    if ".mkldnn." in name or ".onednn." in name:
        return "oneDNN"
    if ".mkl." in name or name.endswith("_mkl_linear"):
        return "MKL"
    on_cuda = (device or "").startswith("cuda")
    if kind == GEMM:
        return "cuBLAS" if on_cuda else "BLAS"
    if kind == CONVOLUTION:
        return "cuDNN" if on_cuda else "oneDNN"
    return None


def _attention_library(name: str) -> str:
    for word, library in (
        ("cudnn", "cuDNN"),
        ("flash", "FlashAttention"),
        ("efficient", "memory-efficient"),
        ("fused_attention_overrideable", "device plugin"),
    ):
        if word in name:
            return library
    return "ATen"
