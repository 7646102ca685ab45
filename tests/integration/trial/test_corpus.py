"""Corpus cases verify by themselves: by the finding's diff, by a setting, and by the fixed twin."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from compilescope.launch import Target
from compilescope.trial import Trial, verify

from .conftest import CORPUS, EXPECTED

pytestmark = pytest.mark.corpus

BY_DIFF = (
    "01_print_in_forward",
    "02_item_and_tensor_branch",
    "04_custom_op_without_fake",
    "06_logging_call",
    "08_step_counter_attr",
    "10_batch_size_drift",
    "18_memory_format_change",
    "21_mark_dynamic_violated",
    "23_compiled_optimizer_lr",
    "25_hot_loop_break",
    "27_fullgraph_error",
    "29_backward_break",
)
# Whatever changes the finding: its setting, else its diff, else another setting.
BY_ITSELF = (
    *BY_DIFF,
    "22_limit_hit_silently",
    "30_two_threads",
    "38_poor_bucket_ladder",
    "40_forward_hooks_read_scalars",
)
QUICK = ("08_step_counter_attr", "22_limit_hit_silently")
BY_SETTING = (
    "01_print_in_forward",
    "06_logging_call",
    "08_step_counter_attr",
    "10_batch_size_drift",
    "22_limit_hit_silently",
    "30_two_threads",
    "38_poor_bucket_ladder",
    "40_forward_hooks_read_scalars",
)
# Their twins change what is counted in processes of their own, or keep the breaks that are by design.
NO_COUNTS = ("36_cache_miss_across_processes", "37_rank_skew")
TWINS = tuple(name for name in EXPECTED if name not in NO_COUNTS)


@pytest.fixture
def trial(tmp_path, monkeypatch):
    monkeypatch.chdir(CORPUS / "scripts")

    def run(name: str, script: str, **how: list[str]) -> Trial:
        recording = CORPUS / "recordings" / f"{name}.zip"
        return verify(
            recording, Target("script", script), repeats=1, folder=tmp_path, say=lambda _: None, **how
        )

    return run


def first(trial: Trial):
    return trial.outcomes[0].verdict.word, trial.outcomes[0].verdict.reason


def cases(names, quick=()):
    return [pytest.param(name, marks=() if name in quick else pytest.mark.slow) for name in names]


@pytest.mark.parametrize("name", cases(BY_ITSELF, QUICK))
def test_a_case_verifies_by_itself(trial, name):
    done = trial(name, f"{name}.py", either=["all"])
    assert first(done)[0] == "verified", first(done)


@pytest.mark.parametrize("name", cases(BY_DIFF))
def test_the_diff_of_the_first_finding_helps(trial, name):
    done = trial(name, f"{name}.py", diffs=["all"])
    assert first(done)[0] == "verified", first(done)
    assert done.outcomes[0].is_fix


@pytest.mark.parametrize("name", cases(BY_SETTING))
def test_a_setting_helps(trial, name):
    done = trial(name, f"{name}.py", rules=["all"])
    assert first(done)[0] == "verified", first(done)


@pytest.mark.parametrize("name", cases(TWINS))
def test_the_fixed_twin_has_the_counts_it_should(trial, name):
    done = trial(name, f"{name}_fixed.py")
    wanted = EXPECTED[name]["counts_fixed"]
    found = done.changed[0].counts
    pairs = {
        "break_sites": found["break_sites"],
        "break_events": found["break_events"],
        "recompiles": found["recompiles"],
        "recompiles_blocked_by_limit": found["refused_compiles"],
        "graphs": found["graphs"],
        "limit_hit": bool(found["limit_hits"]),
        "exit_code": done.changed[0].exit_status,
    }
    assert pairs == {key: wanted[key] for key in pairs}
    assert {outcome.verdict.word for outcome in done.outcomes} <= {"verified", "no effect", None}
    assert Path.cwd() == CORPUS / "scripts"
    assert "COMPILESCOPE_APPLY" not in os.environ
