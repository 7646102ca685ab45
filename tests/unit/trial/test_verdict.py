"""What counts as help, and what as harm."""

from __future__ import annotations

import pytest

from compilescope.trial.results import compare_results
from compilescope.trial.verdict import harms, judge

ID = "size_drift|train.py|f|x"


def verdict(finding, base, changed):
    return judge(finding, ID, base, changed, harms(base, changed, compare_results(base, changed)))


def test_fewer_recompiles_verify(make_run, make_finding):
    base = [make_run(counts={"recompiles": 4}, found={ID: {"recompiles": 4}})] * 2
    found = verdict(make_finding(recompiles=4), base, [make_run()] * 2)
    assert (found.word, found.reason) == ("verified", "recompiles 4 -> 0")


def test_what_other_causes_left_is_said(make_run, make_finding):
    base = [make_run(counts={"recompiles": 6}, found={ID: {"recompiles": 4}})] * 2
    found = verdict(make_finding(recompiles=4), base, [make_run(counts={"recompiles": 2})] * 2)
    assert (found.word, found.reason) == (
        "verified",
        "recompiles 4 -> 0; 2 recompiles of other causes are left",
    )


def test_as_many_recompiles_are_no_effect(make_run, make_finding):
    base = [make_run(counts={"recompiles": 4}, found={ID: {"recompiles": 4}})] * 2
    assert verdict(make_finding(recompiles=4), base, base).word == "no effect"


def test_a_cause_under_another_name_did_not_go_away(make_run, make_finding):
    base = [make_run(counts={"recompiles": 4}, found={ID: {"recompiles": 4}})] * 2
    changed = [
        make_run(counts={"recompiles": 4}, found={"size_zero_or_one|train.py|f|x": {"recompiles": 4}})
    ] * 2
    assert verdict(make_finding(recompiles=4), base, changed).word == "no effect"


def test_one_changed_run_that_did_not_help_is_enough(make_run, make_finding):
    bad = make_run(counts={"recompiles": 4}, found={ID: {"recompiles": 4}})
    assert verdict(make_finding(recompiles=4), [bad] * 2, [make_run(), bad]).word == "no effect"


def test_eager_calls_matter_more_than_recompiles(make_run, make_finding):
    base = [make_run(counts={"eager_calls": 90}, found={ID: {"recompiles": 7, "eager_calls": 90}})] * 2
    changed = [make_run(counts={"recompiles": 11}, found={ID: {"recompiles": 11}})] * 2
    found = verdict(make_finding(recompiles=7, eager_calls=90), base, changed)
    assert (found.word, found.reason) == ("verified", "eager calls 90 -> 0")


@pytest.mark.parametrize(
    ("worse", "said"),
    [
        ({"exit_status": 1}, "ended with status 1"),
        ({"counts": {"failures": 1}}, "failures 0 -> 1"),
        ({"counts": {"eager_calls": 5}}, "eager calls 0 -> 5"),
        ({"checks": {"loss": [2.0]}}, "loss, value 1: 1.0 became 2.0"),
        ({"checks": {}}, "loss was checked 0 times, not 1"),
        ({"step_s": 0.02}, "a steady step takes 20 ms, 10 ms before"),
        ({"compile_s": 9.0}, "compiling takes 9.00 s, 1.00 s before"),
    ],
)
def test_harm_outweighs_help(make_run, make_finding, worse, said):
    good = {"checks": {"loss": [1.0]}, "step_s": 0.01}
    base = [make_run(counts={"recompiles": 4}, found={ID: {"recompiles": 4}}, **good)] * 2
    found = verdict(make_finding(recompiles=4), base, [make_run(**(good | worse))] * 2)
    assert found.word == "harmful"
    assert said in found.reason


def test_one_run_a_side_says_nothing_about_time(make_run, make_finding):
    base = [make_run(counts={"recompiles": 4}, found={ID: {"recompiles": 4}}, step_s=0.01)]
    slow = make_run(step_s=0.02, compile_s=9.0)
    assert verdict(make_finding(recompiles=4), base, [slow]).word == "verified"


def test_longer_compiling_that_buys_faster_steps_is_no_harm(make_run, make_finding):
    base = [make_run(counts={"recompiles": 4}, found={ID: {"recompiles": 4}}, step_s=0.02)] * 2
    changed = [make_run(step_s=0.01, compile_s=9.0)] * 2
    assert verdict(make_finding(recompiles=4), base, changed).word == "verified"


def test_code_that_left_the_graph_costs_its_compile_once(make_run, make_finding):
    """Fewer breaks are more compiled code: the price is said, and is no harm."""
    base = [make_run(counts={"break_events": 4}, found={ID: {"break_events": 4}}, step_s=0.02)] * 2
    changed = [make_run(step_s=0.02, compile_s=9.0)] * 2
    found = verdict(make_finding(break_events=4), base, changed)
    assert found.word == "verified"
    assert found.reason.endswith("; compiling takes 9.00 s, 1.00 s before: more is compiled")


def test_a_compile_for_every_eager_call_is_no_bargain(make_run, make_finding):
    base = [make_run(counts={"eager_calls": 4}, found={ID: {"recompiles": 7, "eager_calls": 4}})] * 2
    found = verdict(make_finding(eager_calls=4), base, [make_run(found={ID: {"recompiles": 11}})] * 2)
    assert (found.word, found.reason) == (
        "harmful",
        "eager calls 4 -> 0, but 4 more compiles: about one for every such call",
    )


def test_a_finding_that_does_not_show_has_no_verdict(make_run, make_finding):
    assert verdict(make_finding(recompiles=4), [make_run()] * 2, [make_run()] * 2).word is None


def test_a_finding_without_counts_verifies_by_going_away(make_run, make_finding):
    base = [make_run(found={ID: {"compile_s": 3.0}})] * 2
    assert verdict(make_finding(compile_s=3.0), base, [make_run()] * 2).word == "verified"
    assert verdict(make_finding(compile_s=3.0), base, base).word == "no effect"


def test_values_that_vary_by_themselves_are_tolerated(make_run):
    base = [make_run(checks={"loss": [1.0]}), make_run(checks={"loss": [1.1]})]
    near = compare_results(base, [make_run(checks={"loss": [1.15]})])
    assert (near.differing, near.noisy) == ((), ("loss",))
    assert "varies from run to run" in near.text
    assert compare_results(base, [make_run(checks={"loss": [5.0]})]).differing


def test_tensors_texts_and_nothing(make_run):
    base = [make_run(checks={"y": [[[2, 3], 0.5, 0.7, 1.0]], "s": ["nan"]})]
    same = [make_run(checks={"y": [[[2, 3], 0.5000001, 0.7, 1.0]], "s": ["nan"]})]
    assert compare_results(base, same).text == "results equal (2 values compared)"
    other = [make_run(checks={"y": [[[3, 2], 0.5, 0.7, 1.0]], "s": ["nan"]})]
    assert compare_results(base, other).differing
    assert compare_results([make_run()], [make_run()]).text == "results not compared"
