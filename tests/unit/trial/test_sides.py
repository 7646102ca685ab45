"""Which programs are compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from compilescope.advice import examine
from compilescope.errors import UsageError
from compilescope.launch import Target
from compilescope.model import load
from compilescope.recording import open_recording
from compilescope.trial.sides import edited_sides, with_diffs

CORPUS = Path(__file__).parents[3] / "fixtures" / "corpus"
NAME = "25_hot_loop_break"
PRINT = "print_in_compiled_region"


@pytest.fixture
def program(tmp_path, monkeypatch):
    """The recorded program in a folder of its own."""
    path = tmp_path / "here" / f"{NAME}.py"
    path.parent.mkdir()
    path.write_bytes((CORPUS / "scripts" / path.name).read_bytes())
    monkeypatch.chdir(path.parent)
    return path


@pytest.fixture
def run(program):
    """As if it had been recorded there."""
    found = load(open_recording(CORPUS / "recordings" / f"{NAME}.zip"))
    processes = [replace(process, sources={str(program): program.read_text()}) for process in found.processes]
    return replace(found, launch={**found.launch, "cwd": str(program.parent)}, processes=tuple(processes))


@pytest.fixture
def findings():
    return examine(load(open_recording(CORPUS / "recordings" / f"{NAME}.zip")))[1]


def test_all_diffs_of_a_file_go_into_one_copy(run, program, findings, tmp_path):
    made = with_diffs(run, findings, Target("script", program.name), None, tmp_path / "out")
    assert made.rules == {"data_dependent_branch", "print_in_compiled_region"}
    assert made.target is not None
    text = Path(made.target.name).read_text()
    assert "torch.where(h.norm() > 100.0" in text
    assert "is_compiling()" in text
    assert "if h.norm()" in program.read_text()


def test_one_rule_alone(run, program, findings, tmp_path):
    made = with_diffs(
        run, findings, Target("script", program.name), {"print_in_compiled_region"}, tmp_path / "o"
    )
    assert made.rules == {PRINT}
    assert made.words == (f"the diff of print_in_compiled_region at {NAME}.py:21",)


def test_a_diff_that_no_longer_fits_is_told(run, program, findings, tmp_path):
    program.write_text("pass\n")
    made = with_diffs(run, findings, Target("script", program.name), None, tmp_path / "out")
    assert made.target is None
    assert all("does not fit" in problem for problem in made.problems)
    assert len(made.problems) == 2


def test_another_script_is_compared_with_the_recorded_one(run, program):
    edited = program.parent / "other" / "edited.py"
    edited.parent.mkdir()
    edited.write_text("pass\n")
    (base, changed), words = edited_sides(run, Target("script", "other/edited.py"), program.parent)
    assert Path(base.target.name).name == program.name
    assert changed.shown("rule|other/edited.py|f|x") == f"rule|{program.name}|f|x"
    assert changed.shown("rule|edited.py|f|x") == "rule|edited.py|f|x"
    assert words


def test_edits_are_compared_with_the_recorded_text(run, program, tmp_path):
    recorded = program.read_text()
    program.write_text(recorded.replace("print(", "(lambda *_: None)("))
    (base, changed), words = edited_sides(run, Target("script", program.name), tmp_path)
    assert words == [f"edits in {program.name}"]
    assert Path(base.target.name).read_text() == recorded
    assert base.shown(f"r|{base.target.name}|f|x") == f"r|{program.name}|f|x"
    assert changed.target.name == program.name


def test_an_unchanged_program_is_nothing_to_compare(run, program, tmp_path):
    with pytest.raises(UsageError, match="nothing is changed"):
        edited_sides(run, Target("script", program.name), tmp_path)


def test_a_recorded_program_that_is_gone(run, program, tmp_path):
    program.rename(program.with_name("moved.py"))
    with pytest.raises(UsageError, match="not there any more"):
        edited_sides(run, Target("script", "moved.py"), tmp_path)
