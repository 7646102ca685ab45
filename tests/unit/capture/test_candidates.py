"""Which compiles of the process are of a candidate that is being timed; asking changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from torch._inductor.runtime import triton_heuristics as heuristics

from compilescope.capture._inductor_candidates import (
    PTXAS_VARIABLE,
    SELECT_MODULE,
    Candidates,
    different_assemblers,
)

from .conftest import Written


def _below(name: str, function: str, call: Any) -> Any:
    """Call it from a function of that name in a module of that name, 20 frames up."""
    text = f"def {function}(call, depth=20):\n    return {function}(call, depth - 1) if depth else call()\n"
    space: dict[str, Any] = {"__name__": name}
    exec(text, space)
    return space[function](call)


@pytest.mark.parametrize(
    ("module", "function", "counted"),
    [
        (SELECT_MODULE, "benchmark", True),
        (SELECT_MODULE, "precompile", False),
        ("train", "benchmark", False),
    ],
)
def test_only_compiles_below_a_benchmark_count(
    written: Written, module: str, function: str, counted: bool
) -> None:
    """On torch's own class. This build has no GPU to compile for: the compile fails, as it does alone."""
    candidates = Candidates(written.session)
    tuner = object.__new__(heuristics.CachingAutotuner)
    with pytest.raises(AttributeError) as alone:
        tuner._precompile_config(None)
    patched = candidates.install()
    try:
        with pytest.raises(AttributeError, match=str(alone.value)):
            _below(module, function, lambda: tuner._precompile_config(None))
    finally:
        patched.remove()
    taken = candidates.take()
    assert taken.get("compiled") == (1 if counted else None)
    assert (taken.get("compiled_s", -1.0) >= 0) is counted
    assert candidates.take() == {}


def test_nothing_is_counted_after_the_session(written: Written) -> None:
    candidates = Candidates(written.session)
    patched = candidates.install()
    written.session.active = False
    tuner = object.__new__(heuristics.CachingAutotuner)
    with pytest.raises(AttributeError):
        _below(SELECT_MODULE, "benchmark", lambda: tuner._precompile_config(None))
    patched.remove()
    assert candidates.take() == {}


def test_a_build_without_an_assembler_has_no_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PTXAS_VARIABLE, raising=False)
    assert different_assemblers() == []
