"""Torch's global state guard: grad mode, autocast, default dtype and the like, by name and by value."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from compilescope.analysis.change import Change

_AUTOCAST = re.compile(r"autocast\((\w+)\)_(\w+)")
_DEVICES = {"cpu": 0, "cuda": 1}
# The ScalarType numbers torch serializes its state with.
_SCALAR_TYPES = {5: "float16", 6: "float32", 7: "float64", 15: "bfloat16"}

_MODES = {
    "grad_mode": ("grad_mode", "grad mode"),
    "autocast_cpu": ("autocast", "autocast(cpu) enabled"),
    "autocast_cuda": ("autocast", "autocast(cuda) enabled"),
    "autocast_cpu_dtype": ("autocast", "autocast(cpu) dtype"),
    "autocast_cuda_dtype": ("autocast", "autocast(cuda) dtype"),
    "default_dtype": ("dtype", "default dtype"),
    "deterministic": ("other", "deterministic algorithms"),
    "num_threads": ("other", "torch.get_num_threads()"),
}


def from_words(words: str, state: Mapping[str, Any]) -> list[Change]:
    """``grad_mode autocast(cpu)_enabled``: torch's list of what changed, without values."""
    return [_named(word, state) for word in words.split()] or [_other("global torch state")]


def from_modes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Change]:
    """Modes noted when the entry was compiled against those of the call that did not fit."""
    names = [name for name in before if name in now and before[name] != now[name] and name in _MODES]
    return [Change(_MODES[name][0], _MODES[name][1], before[name], now[name]) for name in names]


def from_guard(code: str, state: Mapping[str, Any]) -> list[Change]:
    """The state the entry was compiled under, as JSON in the guard's code, against ``state`` now."""
    old = _saved(code)
    if old is None:
        return []
    found = []
    for name, key in (("grad_mode", "grad_mode"), ("deterministic_algorithms", "deterministic")):
        if name in old and key in state and old[name] != state[key]:
            found.append(_named(name, state))
    found += _autocast(old, state)
    dtype = _SCALAR_TYPES.get(old.get("default_dtype", -1))
    if dtype and state.get("default_dtype") not in (None, dtype):
        found.append(Change("dtype", "default dtype", dtype, state["default_dtype"]))
    if "num_threads" in old and state.get("num_threads") not in (None, old["num_threads"]):
        found.append(Change("other", "torch.get_num_threads()", old["num_threads"], state["num_threads"]))
    return found


def _saved(code: str) -> dict[str, Any] | None:
    start = code.find("{")
    if start < 0:
        return None
    try:
        parsed, _ = json.JSONDecoder().raw_decode(code[start:])
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _autocast(old: Mapping[str, Any], state: Mapping[str, Any]) -> list[Change]:
    enabled = old.get("autocast_state", {}).get("enabled", [])
    found = []
    for device, index in _DEVICES.items():
        now = state.get(f"autocast_{device}")
        if index < len(enabled) and now is not None and bool(enabled[index]) != now:
            found.append(Change("autocast", f"autocast({device}) enabled", bool(enabled[index]), now))
    return found


def _named(word: str, state: Mapping[str, Any]) -> Change:
    if word == "grad_mode":
        now = state.get("grad_mode")
        return Change("grad_mode", "grad mode", _flip(now), now, new_known=now is not None)
    autocast = _AUTOCAST.fullmatch(word)
    if autocast:
        now = state.get(f"autocast_{autocast[1]}")
        if autocast[2] != "enabled":
            return Change("autocast", f"autocast({autocast[1]}) {autocast[2]}", None, None, new_known=False)
        return Change(
            "autocast", f"autocast({autocast[1]}) enabled", _flip(now), now, new_known=now is not None
        )
    if word == "deterministic_algorithms":
        now = state.get("deterministic")
        return Change("other", "deterministic algorithms", _flip(now), now, new_known=now is not None)
    if word == "default_dtype":
        now = state.get("default_dtype")
        return Change("dtype", "default dtype", None, now, new_known=now is not None)
    return _other(word.replace("_", " "))


def _other(source: str) -> Change:
    return Change("other", source, None, None, new_known=False)


def _flip(now: Any) -> bool | None:
    return not now if isinstance(now, bool) else None
