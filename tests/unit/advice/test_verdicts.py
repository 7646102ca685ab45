"""Verdicts of trials: kept beside a recording, read back whatever the file holds, shown with the finding."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.advice import examine, findings_json, worst_from_findings
from compilescope.advice.finding import Verification
from compilescope.advice.op_check import OpCheck
from compilescope.advice.verdicts import (
    read_op_checks,
    read_verdicts,
    verdicts_file,
    write_op_checks,
    write_verdicts,
)
from compilescope.model import load
from compilescope.recording import open_recording
from compilescope.views.finding_words import finding_words

PACKED = Path(__file__).parents[3] / "fixtures" / "corpus" / "recordings" / "08_step_counter_attr.zip"
TOLD = Verification(
    word="verified",
    reason="recompiles 7 -> 0",
    change=("mode=max-autotune",),
    before={"recompiles": 7.0, "step_s": 0.012},
    after={"recompiles": 0.0, "step_s": 0.009},
    is_fix=True,
    at="2026-01-01T00:00:00+00:00",
)
CHECK = OpCheck("lab::f", "lab::f(Tensor x) -> Tensor", "a.py", 3, "f", "a.py:9 g", 2, {"test_schema": "no"})
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda children: (
        st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=8), children, max_size=4)
    ),
    max_leaves=10,
)


def test_what_is_written_is_read_and_the_newest_verdict_wins(tmp_path: Path) -> None:
    write_verdicts(tmp_path, {"a": TOLD, "b": TOLD})
    write_op_checks(tmp_path, [CHECK])
    worse = Verification("harmful", "slower")
    write_verdicts(tmp_path, {"b": worse})
    assert read_verdicts(tmp_path) == {"a": TOLD, "b": worse}
    assert read_op_checks(tmp_path) == [CHECK]
    assert [p.name for p in tmp_path.iterdir()] == ["verdicts.json"]


def test_beside_a_packed_recording(tmp_path: Path) -> None:
    packed = tmp_path / "run.zip"
    shutil.copy(PACKED, packed)
    _, before = examine(load(open_recording(packed)))
    write_verdicts(packed, {before[0].identity: TOLD})
    assert verdicts_file(packed) == tmp_path / "verdicts.run.zip.json"
    report, found = examine(load(open_recording(packed)))
    assert found[0].verification == TOLD
    assert report.findings[0]["verified"] == "verified"
    assert report.findings[0]["verification"]["after"] == {"recompiles": 0.0, "step_s": 0.009}
    assert finding_words(report.findings[0]).verified == (
        "verified: recompiles 7 -> 0, steps 12 ms -> 9.0 ms; tried: mode=max-autotune"
    )
    assert worst_from_findings(found)[0].note == "tried, verified: recompiles 7 -> 0"


def test_no_trial_is_no_verdict() -> None:
    _, found = examine(load(open_recording(PACKED)))
    assert found[0].verification is None
    plain = findings_json(found)[0]
    assert (plain["verified"], plain["verification"], finding_words(plain).verified) == (None, None, None)


def test_a_recording_with_verdicts_in_its_folder_reads_as_before(tmp_path: Path) -> None:
    from zipfile import ZipFile

    with ZipFile(PACKED) as packed:
        packed.extractall(tmp_path / "run")
    before, _ = examine(load(open_recording(tmp_path / "run")))
    write_op_checks(tmp_path / "run", [])
    after, _ = examine(load(open_recording(tmp_path / "run")))
    assert after.totals == before.totals
    assert after.processes == before.processes


@pytest.mark.parametrize("text", ["", "[]", "{", '{"v": 2}', "\0", "[" * 90000, '{"v": 1, "findings": 3}'])
def test_a_damaged_file_is_none(text: str, tmp_path: Path) -> None:
    verdicts_file(tmp_path).write_text(text)
    assert (read_verdicts(tmp_path), read_op_checks(tmp_path)) == ({}, [])


@given(JSON, JSON)
def test_any_value_in_it_is_read_without_harm(findings: Any, ops: Any) -> None:
    told = {"v": 1, "findings": {"a": findings}, "ops": [ops, {"op": "x", "results": ops, "calls": findings}]}
    with TemporaryDirectory() as name:
        folder = Path(name)
        verdicts_file(folder).write_text(json.dumps(told))
        known, checks = read_verdicts(folder), read_op_checks(folder)
    assert set(known) <= {"a"}
    assert [check.op for check in checks][-1:] == ["x"]
    assert all(verification.word in ("verified", "no effect", "harmful") for verification in known.values())


def test_beside_a_log_it_is_not_taken_for_one(tmp_path: Path) -> None:
    log = tmp_path / "dedicated_log_torch_trace_rank_0_abc.log"
    started = {"dynamo_start": {"stack": []}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}
    log.write_text(f"V0102 03:04:05.678000 123 torch/_dynamo/x.py:22] {json.dumps(started)}\n")
    before = open_recording(tmp_path)
    write_op_checks(log, [CHECK])
    write_op_checks(tmp_path, [CHECK])
    after = open_recording(tmp_path)
    assert read_op_checks(log) == [CHECK]
    assert (len(after.processes), after.damage) == (len(before.processes), before.damage)
