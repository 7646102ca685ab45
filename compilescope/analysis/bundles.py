"""Triton kernels that are stored with a graph in the FX graph cache: restored from there, or compiled."""

from __future__ import annotations

import re

from compilescope.analysis.report_graph import CacheOutcome
from compilescope.model import inductor
from compilescope.units import count

NAME = "triton_bundle"
_LISTS = re.compile(r"(cached_kernel_names|statically_launched_kernel_names)=\[([^\]]*)\]")
_OFF = "kernels are not bundled: torch._inductor.config.bundle_triton_into_fx_graph_cache is off"


def triton_bundle(found: inductor.CacheOutcome) -> CacheOutcome | None:
    """Beside a look-up of the FX graph cache; None where there was no Triton kernel to bundle.

    Kernels that still lie in Triton's own cache on disk are neither restored nor compiled: torch names none.
    """
    if found.cache != "fx_graph" or found.outcome == "bypass":
        return None
    if found.triton_bundle is None:
        return CacheOutcome(NAME, "bypass", found.key, _OFF)
    kernels = _kernels(found.triton_bundle)
    if not kernels:
        return None
    hit = found.outcome == "hit"
    what = "restored; the time saved is in that of the FX graph" if hit else "compiled and stored"
    return CacheOutcome(NAME, found.outcome, found.key, f"{count(kernels, 'kernel')} {what}")


def _kernels(text: str) -> int:
    """A kernel that is launched statically may be among the cached ones too."""
    sizes = [len([name for name in names.split(",") if name.strip()]) for _, names in _LISTS.findall(text)]
    return max(sizes, default=0)
