"""Breaks at lines of a library: whose they are, how bad, and what stands between a function and one graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from report_rows import frame, graph_break, recompile

from compilescope.advice import advise, worst_from_findings
from compilescope.analysis.report import Diagnosis, Report

MakeReport = Callable[..., Report]
LOGGING = "/usr/lib/python3.11/logging/__init__.py"
DDP = "torch/nn/parallel/distributed.py"


def _in_logging(*path: str) -> dict[str, object]:
    return {
        "file": LOGGING,
        "line": 1488,
        "function": "info",
        "code": None,
        "library": True,
        "call_path": path,
    }


def test_a_logging_call_behind_a_break_is_the_programs_own_line(report: MakeReport) -> None:
    """After ``log.info("%s", loss.item())`` broke at item(), torch compiles ``info`` by itself."""
    path = ["train.py:20 main", "train.py:7 step", f"{LOGGING}:1488 info"]
    (found,) = advise(report(graph_breaks=[graph_break("logging_in_compiled_region", **_in_logging(*path))]))
    assert (found.rule, found.file, found.line) == ("logging_in_compiled_region", "train.py", 7)
    assert "is_compiling" in found.fix


def test_a_logging_call_of_an_installed_package_is_the_packages(report: MakeReport) -> None:
    package = "/venv/lib/python3.11/site-packages/pkg/a.py:9 work"
    path = ["train.py:20 main", package, f"{LOGGING}:1488 info"]
    (found,) = advise(report(graph_breaks=[graph_break("logging_in_compiled_region", **_in_logging(*path))]))
    assert found.rule == "break_in_library"


def test_what_leaves_nothing_compiled_comes_first(report: MakeReport) -> None:
    first = graph_break("unsupported_method", file=DDP, line=1757, library=True)
    later = graph_break(line=9, compile_ids=["1/0"])
    rows = report(graph_breaks=[later, first])
    usual = advise(rows)
    assert [f.severity for f in usual] == ["medium", "note"]
    nothing = Diagnosis("no_operation_compiled", "Nothing was compiled.")
    found = advise(replace(rows, diagnoses=[nothing]))
    assert (found[0].severity, found[0].rule) == ("critical", "break_in_library")
    assert found[0].fix.endswith("DistributedDataParallel(torch.compile(module))")
    assert found[1].severity == "medium"


def test_a_break_that_leaves_a_whole_function_eager_comes_before_a_costlier_split(report: MakeReport) -> None:
    split = graph_break("scalar_read", file="b.py", call_path=["b.py:5 forward"])
    behind = recompile(holder="resume_value", source="___stack0", caused_by="b.py:5", wasted_compile_s=9.0)
    whole = graph_break(resume=["resumable", "frame_skipped"], runtime_hits=2)
    found = advise(report(graph_breaks=[split, whole], recompiles=[behind]))
    assert [(f.file, f.severity) for f in found] == [("train.py", "high"), ("b.py", "high")]
    assert worst_from_findings(found)[0].cost == "ran 2 times (counted), a whole function runs eager"


def test_functions_with_the_same_lines_to_fix_are_named_in_one_note(report: MakeReport) -> None:
    site = graph_break(compile_ids=["0/0", "1/0", "2/0"])
    frames = [frame(function=name, compile_ids=[f"{n}/0"]) for n, name in enumerate(("a", "b", "b"))]
    (found,) = advise(replace(report(graph_breaks=[site]), frames=frames))
    notes = [note for note in found.evidence.notes if "one graph" in note]
    assert notes == ["a(), b() are one graph each once this line is fixed"]


MODEL = "/venv/lib/python3.11/site-packages/transformers/modeling.py"


def test_a_size_that_a_model_of_a_package_is_called_with_stands_at_the_call(report: MakeReport) -> None:
    rows = [recompile("size", "ids dim 1", file=MODEL, line=121, called_from="train.py:39 main")]
    (found,) = advise(report(recompiles=rows))
    assert (found.file, found.line, found.function) == ("train.py", 39, "forward")


def test_a_value_that_a_package_reads_stands_where_it_reads_it(report: MakeReport) -> None:
    rows = [recompile("value", "self.n", file=MODEL, line=121, called_from="train.py:39 main")]
    (found,) = advise(report(recompiles=rows))
    assert (found.file, found.line) == (MODEL, 121)
