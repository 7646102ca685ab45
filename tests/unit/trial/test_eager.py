"""Does compiling pay? The sentence, and the numbers behind it."""

from __future__ import annotations

import json
import math

import pytest

from compilescope.trial.eager import weigh
from compilescope.trial.plain import eager_json
from compilescope.trial.text import eager_sentence, eager_text


def test_it_pays_back_after_many_steps(make_run):
    compiled = [make_run(step_s=0.1, spread=0.001, compile_s=94.0, steps=800)] * 2
    answer = weigh(compiled, [make_run(step_s=0.104, spread=0.001)] * 2)
    assert answer.pays is False
    assert eager_sentence(answer) == (
        "compiled 1.04x eager; 94 s to compile; pays back after step 24,000; "
        "you ran 800: it did not pay in this run"
    )
    assert answer.pays_back_after is not None
    assert answer.pays_back_after.low < 23_500 < answer.pays_back_after.high


def test_a_long_run_pays(make_run):
    compiled = [make_run(step_s=0.05, compile_s=10.0, steps=5000)] * 2
    answer = weigh(compiled, [make_run(step_s=0.1)] * 2)
    assert answer.pays is True
    assert eager_sentence(answer) == (
        "compiled 2.00x eager; 10 s to compile; pays back after step 200; you ran 5,000"
    )


def test_slower_is_said_plainly(make_run):
    answer = weigh([make_run(step_s=0.2)] * 2, [make_run(step_s=0.1)] * 2)
    assert answer.pays is False
    assert "it does not pay: compiled steps are not faster" in eager_sentence(answer)


def test_overlap_is_no_proof(make_run):
    faster = weigh([make_run(step_s=0.1, spread=0.2)] * 2, [make_run(step_s=0.105, spread=0.2)] * 2)
    assert faster.pays is None
    assert faster.pays_back_after is not None
    assert math.isinf(faster.pays_back_after.high)
    assert "intervals overlap" in eager_sentence(faster)
    slower = weigh([make_run(step_s=0.105, spread=0.2)] * 2, [make_run(step_s=0.1, spread=0.2)] * 2)
    assert slower.pays is None
    assert "intervals overlap" in eager_sentence(slower)


@pytest.mark.parametrize("side", ["compiled", "eager"])
def test_too_few_steps(make_run, side):
    runs = [[make_run(step_s=0.1)], [make_run()]]
    answer = weigh(*(runs if side == "eager" else runs[::-1]))
    assert answer.pays is None
    assert eager_sentence(answer).startswith("too few steps")


def test_what_spoils_the_comparison_is_noted(make_run):
    compiled = [make_run(step_s=0.1, exit_status=1)]
    eager = [make_run(step_s=0.1, counts={"graphs": 1}, problems=("the program set a to 1",))]
    text = eager_text(weigh(compiled, eager))
    assert "note: a run (compiled) ended with status 1" in text
    assert "note: the eager runs compiled graphs" in text
    assert "note: the program set a to 1" in text


def test_json_has_no_infinity(make_run):
    answer = weigh([make_run(step_s=0.1, spread=0.2)], [make_run(step_s=0.105, spread=0.2)])
    plain = json.loads(json.dumps(eager_json(answer), allow_nan=False))
    assert plain["pays_back_after_steps"]["high"] is None
    assert plain["steps_basis"] == "calls of net"
