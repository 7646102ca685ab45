"""``compilescope.profile``: around code compiled before or after entering, leaving torch as it was."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch._dynamo

import compilescope
from compilescope import capture
from compilescope.errors import OutputError, UsageError


def _double(x: torch.Tensor, n: int) -> torch.Tensor:
    return x * n


def _compiled() -> object:
    torch._dynamo.reset()
    return torch.compile(_double, backend="eager", dynamic=False)


def test_counts_calls_of_code_compiled_inside(tmp_path: Path) -> None:
    function = _compiled()
    with compilescope.profile(tmp_path / "rec") as p:
        for n in (2, 2, 3):
            function(torch.ones(3), n)
    assert p.report.totals.compiles == 2
    assert p.report.totals.compiled_calls == 3
    assert [(r.source, r.changes) for r in p.report.recompiles] == [("n", [(2, 3)])]


def test_counts_calls_of_code_compiled_before(tmp_path: Path) -> None:
    function = _compiled()
    function(torch.ones(3), 2)
    with compilescope.profile(tmp_path / "rec") as p:
        for n in (2, 2, 2, 5):
            function(torch.ones(3), n)
    assert p.report.totals.compiled_calls == 4
    assert p.report.totals.recompiles == 1
    assert [(r.source, r.changes) for r in p.report.recompiles] == [("n", [(2, 5)])]


def test_as_a_decorator_records_the_call(tmp_path: Path) -> None:
    function = _compiled()

    @compilescope.profile(tmp_path / "rec", force=True)
    def run(n: int) -> torch.Tensor:
        """Kept."""
        return function(torch.ones(3), n)

    assert run(4).tolist() == [4.0, 4.0, 4.0]
    assert run(5).tolist() == [5.0, 5.0, 5.0]
    assert run.__doc__ == "Kept."
    assert (tmp_path / "rec" / "run.json").exists()


def test_leaves_torch_as_it_was(tmp_path: Path) -> None:
    from torch._dynamo import convert_frame, decorators, eval_frame, guards, output_graph

    places = [
        (output_graph.OutputGraph, "call_user_compiler"),
        (convert_frame.ConvertFrame, "__call__"),
        (convert_frame.ConvertFrameAssert, "__call__"),
        (guards.CheckFunctionManager, "__init__"),
        (guards, "get_guard_fail_reason_helper"),
        (torch._dynamo, "reset"),
        (torch._dynamo, "optimize"),
        (eval_frame, "_set_stance"),
        (decorators, "_set_stance"),
        (eval_frame._TorchDynamoContext, "__call__"),
    ]
    function = _compiled()
    function(torch.ones(3), 2)
    before = [getattr(owner, name) for owner, name in places]
    graphs = {k: v for k, v in globals().items() if k.startswith("__compiled_fn")}
    handlers = list(logging.getLogger("torch.__trace").handlers)
    with compilescope.profile(tmp_path / "rec"):
        function(torch.ones(3), 3)
    assert [getattr(owner, name) for owner, name in places] == before
    assert {k: globals()[k] for k in graphs} == graphs
    assert logging.getLogger("torch.__trace").handlers == handlers
    assert not capture.is_attached()


def test_an_exception_passes_through_and_is_noted(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), compilescope.profile(tmp_path / "rec") as p:
        _ = 1 / 0
    assert "the block raised ZeroDivisionError" in json.loads((p.path / "run.json").read_text())["notes"]
    assert not capture.is_attached()


def test_one_at_a_time(tmp_path: Path) -> None:
    with compilescope.profile(tmp_path / "a"), pytest.raises(UsageError, match="recorded already"):
        compilescope.profile(tmp_path / "b").__enter__()
    assert not (tmp_path / "b").exists()


def test_does_not_overwrite_without_force(tmp_path: Path) -> None:
    with compilescope.profile(tmp_path / "rec"):
        pass
    with pytest.raises(OutputError, match="exists"):
        compilescope.profile(tmp_path / "rec").__enter__()
    assert not capture.is_attached()
    with compilescope.profile(tmp_path / "rec", force=True):
        pass


def test_a_folder_that_cannot_be_made_costs_the_recording_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    function = _compiled()
    with compilescope.profile(tmp_path / "file" / "rec") as p:
        assert function(torch.ones(3), 2).tolist() == [2.0, 2.0, 2.0]
    assert "cannot write" in capsys.readouterr().err
    assert "no" in str(p).lower()


def test_nothing_compiled_is_a_stated_diagnosis(tmp_path: Path) -> None:
    # In a process of its own: here, earlier tests have compiled.
    program = f"""if True:
        import torch, compilescope
        with compilescope.profile({str(tmp_path / "rec")!r}) as p:
            torch.ones(2) + 1
        print([d.slug for d in p.report.diagnoses], p)
    """
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert "no_torch_compile" in run.stdout
    assert "no call of torch.compile was reached" in run.stdout
