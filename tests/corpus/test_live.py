"""Corpus programs under real torch.compile: a dozen of the quick ones in every test run, all on request."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus_live import disagreements, programs, record

pytest.importorskip("torch")

# One of each kind of finding: breaks of three outcomes, values, sizes, modes, limits, failures, children.
DOZEN = frozenset(
    (
        "02_item_and_tensor_branch",
        "04_custom_op_without_fake",
        "09_lr_float_arg",
        "12_kv_cache_growth",
        "16_no_grad_toggle",
        "21_mark_dynamic_violated",
        "23_compiled_optimizer_lr",
        "24_history_grows",
        "24_history_grows_fixed",
        "26_break_deep_in_library",
        "37_rank_skew",
        "40_forward_hooks_read_scalars",
    )
)


def _marked(program: str) -> object:
    marks = [pytest.mark.corpus] if program in DOZEN else [pytest.mark.corpus, pytest.mark.slow]
    return pytest.param(program, marks=marks)


@pytest.mark.parametrize("program", [_marked(program) for program in programs()])
def test_the_report_of_a_live_run_agrees_with_the_corpus(program: str, tmp_path: Path) -> None:
    assert disagreements(program, record(program, tmp_path)) == []
