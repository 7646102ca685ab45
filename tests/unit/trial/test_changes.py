"""From rules to settings of torch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compilescope.advice import examine
from compilescope.advice.catalog import catalog
from compilescope.model import load
from compilescope.recording import open_recording
from compilescope.trial.changes import DYNAMIC_SOURCES, RECIPES, Change, _torch_source, change_for

CORPUS = Path(__file__).parents[3] / "fixtures" / "corpus" / "recordings"


def findings_of(name):
    return examine(load(open_recording(CORPUS / f"{name}.zip")))


def test_every_recipe_answers_a_rule_there_is():
    assert set(RECIPES) <= set(catalog())


@pytest.mark.parametrize(
    ("shown", "torch_name"),
    [
        ("x dim 0", "L['x']:0"),
        ("args[0] dim 1", "L['args'][0]:1"),
        ("cache['k'] dim 2", "L['cache']['k']:2"),
        ("self.steps", "L['self'].steps"),
        ("cfg.a[0].b", "L['cfg'].a[0].b"),
        ("t", "L['t']"),
        ("len(history)", None),
        ("___stack0 (result of line 14)", None),
        ("a,b", None),
        ("", None),
    ],
)
def test_torch_names(shown, torch_name):
    assert _torch_source(shown) == torch_name


def test_a_size_becomes_dynamic():
    change = change_for(*findings_of("10_batch_size_drift"), ["last_partial_batch"])
    assert change.settings == {DYNAMIC_SOURCES: "L['args'][0]:0"}
    assert change.fixes == ("last_partial_batch",)
    assert change.words == ["torch.compiler.config.dynamic_sources=L['args'][0]:0"]


def test_a_mode_is_not_dynamic():
    change = change_for(*findings_of("30_two_threads"), ["thread_mixed_modes"])
    assert change.settings == {DYNAMIC_SOURCES: "L['x']:0"}


def test_a_higher_limit_is_not_the_fix():
    change = change_for(*findings_of("22_limit_hit_silently"), RECIPES)
    assert change.rules == ("string_argument_variants",)
    assert change.fixes == ()


def test_rules_without_a_finding_change_nothing():
    change = change_for(*findings_of("01_print_in_forward"), ["size_drift", "unheard_of"])
    assert change == Change()
    assert change.words == []


def test_what_the_process_is_told_is_json():
    told = json.loads(Change({"torch._dynamo.config.recompile_limit": 64}, stance="force_eager").to_json())
    assert told["settings"] == {"torch._dynamo.config.recompile_limit": 64}
    assert (told["stance"], told["mode"], told["ignore_calls"], told["time_calls"]) == (
        "force_eager",
        None,
        False,
        True,
    )
