"""Every cause in a program of its own, under real torch.compile: the rule that names it, at its line."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from compilescope.advice import examine
from compilescope.launch import Target, run_program
from compilescope.model import load
from compilescope.recording import open_recording

HERE = Path(__file__).parent
# Function (or line of the class's forward): rules, the first is the one expected.
RECOMPILES = {
    "sizes": "size_drift",
    "zero_or_one": "size_zero_or_one",
    "StepCounter.forward": "module_int_attribute",
    "FloatAttribute.forward": "module_float_attribute",
    "TextAttribute.forward": "module_flag_attribute",
    "FlagAttribute.forward": "module_flag_attribute",
    "GrowingList.forward": "container_growth",
    "TrainOrEval.forward": "train_eval_toggle",
    "Layer.forward": "per_layer_attribute",
    "int_argument": "int_argument_variants",
    "float_argument": "float_hyperparameter_python",
    "text_argument": "string_argument_variants",
    "flag_argument": "flag_argument_variants",
    "optional_argument": "optional_argument",
    "global_number": "global_python_state",
    "closures.made.closure": "closure_capture_changes",
    "function_argument": "function_identity_changes",
    "class_argument": "object_identity_changes",
    "grad_modes": "grad_mode_toggle",
    "requires_grads": "requires_grad_change",
    "autocasts": "autocast_toggle",
    "dtypes": "dtype_change",
    "strides": "memory_format_change",
    "ranks": "rank_change",
    "list_grows": "container_growth",
    "list_order": "number_in_container",
    "dict_keys": "dict_keys_change",
    "dict_order": "dict_keys_change",
    "pinned": "dynamic_dim_pinned",
    "branches_on_size": "branch_on_size",
    "equal_sizes": "size_drift",
}


def findings_of(script: str, folder: Path):
    shutil.copy(HERE / script, folder / script)
    recording = folder / "run.compilescope"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("TORCH_COMPILE_JOB_ID", raising=False)
        run_program(Target("script", script), output=recording, say=lambda _: None)
    return examine(load(open_recording(recording)))


@pytest.fixture(scope="module")
def breaks(tmp_path_factory):
    return findings_of("break_causes.py", tmp_path_factory.mktemp("breaks"))


@pytest.fixture(scope="module")
def recompiles(tmp_path_factory):
    return findings_of("recompile_causes.py", tmp_path_factory.mktemp("recompiles"))


def test_every_cause_of_a_graph_break_has_its_rule_at_its_line(breaks):
    report, findings = breaks
    assert report.recording.exit_status == 0
    marked = re.compile(r"  # ([a-z_]+)$")
    lines = (HERE / "break_causes.py").read_text().splitlines()
    wanted = {(n, match[1]) for n, line in enumerate(lines, 1) if (match := marked.search(line))}
    found = {(finding.line, finding.rule) for finding in findings}
    assert wanted - found == set()
    # random.shuffle() is the second cause in its function.
    assert {rule for line, rule in found - wanted} == {"skipped_function"}


def test_each_says_what_is_left_to_fix_before_the_function_is_one_graph(breaks):
    _, findings = breaks
    notes = {f.function: " ".join(f.evidence.notes) for f in findings}
    assert "prints() is one graph once this line is fixed" in notes["prints"]
    assert "needs_two_changes() is one graph once these 2 lines are fixed" in notes["needs_two_changes"]
    assert "inside the `try` of line " in notes["breaks_inside_try"]
    assert "main() is one graph" not in notes["keeps_mean"]
    assert "torch has not looked at what comes after" in notes["writes_file"]


def test_what_a_break_costs_is_counted_and_its_saving_is_not_made_up(breaks):
    _, findings = breaks
    (found,) = (f for f in findings if f.function == "prints")
    assert (found.cost["breaks_executed"].value, found.cost["breaks_executed"].basis) == (3, "counted")
    assert (found.saving, found.executions) == (None, 3)


def test_every_cause_of_a_recompile_has_its_rule(recompiles):
    report, findings = recompiles
    assert report.recording.exit_status == 0
    found = {f.identity.split("|")[2]: f.rule for f in reversed(findings)}  # the first one stays
    assert found == RECOMPILES


def test_one_cause_is_one_finding(recompiles):
    _, findings = recompiles
    times = Counter(f.identity.split("|")[2] for f in findings)
    assert {function: n for function, n in times.items() if n > 1} == {"branches_on_size": 2}
    # Before its branch can be met a size has to become dynamic, which is a cause of its own and settles.
    assert {f.rule for f in findings if f.function == "branches_on_size"} == {"branch_on_size", "size_drift"}
