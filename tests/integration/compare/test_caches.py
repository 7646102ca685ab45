"""Real compile caches: a warm run is no other program, and a changed setting is found in the key."""

from __future__ import annotations

import json

import pytest

PROGRAM = """
import torch
import torch._inductor.config

torch._inductor.config.epilogue_fusion = {fusion}


def f(x):
    return x @ x  # one call of a library: no C++ compiler is waited for


torch.compile(f)(torch.ones(8, 8))
"""


@pytest.fixture
def cache(tmp_path):
    return {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}


def test_a_warm_cache_is_a_condition_a_setting_is_the_reason_and_a_bypass_says_so(command, record, cache):
    cold = record(PROGRAM.format(fusion=True), "cold", **cache)
    warm = record(PROGRAM.format(fusion=True), "warm", **cache)
    diff = json.loads(command("diff", cold, warm, "--format", "json").stdout)
    assert diff["differs"] is False, diff["verdict"]
    assert any("compile times are not compared" in text for text in diff["conditions"])
    outcomes = {(r["cache"], r["base_outcome"], r["head_outcome"], r["status"]) for r in diff["cache_keys"]}
    assert ("fx_graph", "miss", "hit", "same") in outcomes

    other = record(PROGRAM.format(fusion=False), "other", **cache)
    rows = json.loads(command("why-miss", warm, other, "--format", "json").stdout)
    (row,) = [row for row in rows if row["cache"] == "fx_graph"]
    assert (row["base_outcome"], row["head_outcome"], row["status"]) == ("hit", "miss", "changed")
    assert [(c["path"], c["before"], c["after"]) for c in row["changes"]] == [
        ("inductor_config[epilogue_fusion]", "True", "False")
    ]
    text = command("why-miss", warm, other).stdout
    assert "inductor_config[epilogue_fusion] (changed)\n      - True\n      + False" in text

    code = PROGRAM.format(fusion=True).replace(
        "torch.compile(f)", "torch._inductor.config.force_disable_caches = True\ntorch.compile(f)"
    )
    rows = json.loads(command("why-miss", warm, record(code, "off", **cache), "--format", "json").stdout)
    assert rows
    assert all(row["status"] == "unknown" and row["reason"] for row in rows)
