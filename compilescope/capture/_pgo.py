"""Dynamo's profile cache: whether sizes that changed in an earlier run were known from the start.

torch looks it up once per process and reset. It leaves no event of a miss, nor of not looking at all,
which is what happens without a job id.
"""

from __future__ import annotations

import time
from types import ModuleType
from typing import Any

from compilescope.capture._patches import HookMissingError, Patch, Wrapper, patch
from compilescope.capture._session import Session

_NEEDED = ("_CODE_STATE", "_INIT_CODE_STATE", "get_cache_key", "should_use_remote_dynamo_pgo_cache")
_DISABLED = "torch.compiler.config.force_disable_caches is set"
_NO_JOB = "no job id: torch.compiler.config.job_id (TORCH_COMPILE_JOB_ID) is not set"
_OFF = "torch._dynamo.config.automatic_dynamic_local_pgo is off"
_NO_PROFILE = "no profile was stored under this job id"


class Pgo:
    def __init__(self, session: Session) -> None:
        self._session = session

    def install(self) -> Patch:
        from torch._dynamo import pgo

        for name in _NEEDED:
            if not hasattr(pgo, name):
                raise HookMissingError(f"torch._dynamo.pgo.{name} is not there")
        return patch(pgo, "get_code_state", lambda original: self._make(pgo, original))

    def _make(self, pgo: ModuleType, original: Wrapper) -> Wrapper:
        session = self._session

        def get_code_state(*args: Any, **kwargs: Any) -> Any:
            if not session.active or pgo._CODE_STATE is not None:
                return original(*args, **kwargs)
            before, started = pgo._INIT_CODE_STATE, time.perf_counter()
            result = original(*args, **kwargs)
            found = pgo._INIT_CODE_STATE is not before  # torch keeps a copy of a profile it found
            session.safely(self._observe, pgo, len(result) if found else None, time.perf_counter() - started)
            return result

        return get_code_state

    def _observe(self, pgo: ModuleType, frames: int | None, took_s: float) -> None:
        """``frames``: of the profile that was found."""
        key = pgo.get_cache_key()
        why_not = _why_not_looked_up(pgo, key)
        fields = {
            "outcome": "hit" if frames is not None else "bypass" if why_not else "miss",
            "reason": None if frames is not None else why_not or _NO_PROFILE,
            "key": key,
            "frames": frames,
            "took_us": round(took_s * 1e6),
        }
        self._session.writer.record("pgo", {"m": fields}, c=self._session.current_compile_id())


def _why_not_looked_up(pgo: ModuleType, key: str | None) -> str | None:
    import torch

    if torch.compiler.config.force_disable_caches:
        return _DISABLED
    if key is None:
        return _NO_JOB
    is_local = torch._dynamo.config.automatic_dynamic_local_pgo
    return None if is_local or pgo.should_use_remote_dynamo_pgo_cache() else _OFF
