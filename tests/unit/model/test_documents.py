"""Long texts of a recording and the compiles they are of."""

from __future__ import annotations

from pathlib import Path

import pytest

from compilescope.model import load
from compilescope.model.documents import TITLES, documents_of
from compilescope.recording import Writer, open_recording

FIXTURES = Path(__file__).parents[3] / "fixtures" / "corpus"


def test_every_text_of_a_training_run_with_its_code() -> None:
    found = documents_of(open_recording(FIXTURES / "compiled" / "train_dynamic.zip"))
    first = [document for document in found if document.compile_id == "0/0"]
    assert [(d.kind, d.code is not None) for d in first] == [
        ("dynamo_output_graph", False),
        ("aot_joint_graph", False),
        ("aot_forward_graph", False),
        ("aot_backward_graph", False),
        ("inductor_post_grad_graph", True),
        ("inductor_output_code", True),
        ("dynamo_cpp_guards_str", False),
        ("inductor_post_grad_graph", True),
        ("inductor_output_code", True),
    ]
    codes = [d.code for d in first if d.code]
    assert codes[0] == codes[1] != codes[2] == codes[3]
    assert "# AOT ID: ['0_forward']" in (first[5].read() or "")
    assert all(len((d.read() or "").encode()) == d.size_bytes for d in found)


@pytest.mark.parametrize("recording", sorted((FIXTURES / "recordings").glob("*.zip")), ids=lambda p: p.stem)
def test_ids_are_those_of_the_model(recording: Path) -> None:
    run = load(open_recording(recording), detail=False)
    known = {(p.id, i.epoch, str(i)) for p in run.processes for i in p.compiles}
    found = documents_of(open_recording(recording))
    assert {(d.process, d.epoch, d.compile_id) for d in found} <= known
    assert {d.kind for d in found} <= TITLES.keys()


def test_a_later_attempt_says_so_and_nothing_is_read_before_it_is_asked_for(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "r", {})
    for attempt in (0, 1):
        writer.record("dynamo_start", {"m": {}}, c=(0, 0, attempt, 0))
        writer.record("dynamo_output_graph", {"m": {}}, c=(0, 0, attempt, 0), payload=f"graph {attempt}")
    writer.record("artifact", {"m": {"name": "not_shown"}}, c=(0, 0, 0, 0), payload="x")
    writer.close()
    found = documents_of(open_recording(tmp_path / "r"))
    assert [d.title for d in found] == ["Dynamo graph", "Dynamo graph, attempt 2"]
    assert [d.read() for d in found] == ["graph 0", "graph 1"]
