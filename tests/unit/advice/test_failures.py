"""Failures say what was raised; a damaged file of the cache is no fault of the code."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from report_rows import failure

from compilescope.advice import Finding, advise
from compilescope.analysis.report import Report

MakeReport = Callable[..., Report]
LIBRARY = "/tmp/torchinductor_me/am/camf.main.so"


def told(report: MakeReport, message: str, **fields: object) -> Finding:
    row = failure(**({"exception": "InductorError", "phase": "inductor", "message": message} | fields))
    return advise(report(failures=[row]))[0]


@pytest.mark.parametrize("reason", ["file too short", "invalid ELF header"])
def test_a_library_that_is_cut_short_is_named_and_deleted(report: MakeReport, reason: str) -> None:
    found = told(report, f"ImportError: {LIBRARY}: {reason}")
    assert (found.rule, found.fix_kind) == ("backend_error", "delete_cached_file")
    assert LIBRARY in found.summary
    assert found.command == f"rm {LIBRARY}"
    assert "aot_eager" not in found.fix


def test_a_path_with_blanks_is_one_word_of_the_command(report: MakeReport) -> None:
    found = told(report, "OSError: /tmp/torchinductor_a b/c.so: file too short", suppressed=True)
    assert (found.rule, found.command) == ("suppressed_error", "rm '/tmp/torchinductor_a b/c.so'")


@pytest.mark.parametrize(
    "file",
    [
        "/home/me/lib/libtorch.so",
        "/tmp/torchinductor_me/../../home/me/x.so",
        "/tmp/torchinductor.so",
    ],
)
def test_nothing_but_a_file_of_the_cache_is_to_be_deleted(report: MakeReport, file: str) -> None:
    """A recording comes from anywhere, and a command is there to be pasted."""
    found = told(report, f"OSError: {file}: file too short")
    assert (found.command, found.fix_kind) == (None, "fix_or_exclude")
    assert file in found.summary


@pytest.mark.parametrize(
    "message",
    ["ImportError: libcuda.so.1: cannot open shared object file", "CppCompileError: g++ failed", ""],
)
def test_any_other_error_of_the_backend_is_still_to_be_narrowed_down(
    report: MakeReport, message: str
) -> None:
    found = told(report, message)
    assert (found.fix_kind, found.command) == ("fix_or_exclude", None)
    assert found.summary == "forward(): the compiler behind Dynamo failed" + (
        f": {message}" if message else ""
    )


@pytest.mark.parametrize(
    ("exception", "suppressed", "rule"),
    [
        ("TorchRuntimeError", False, "error_in_compiled_code"),
        ("TorchRuntimeError", True, "suppressed_error"),
        ("Unsupported", False, "fullgraph_violation"),
    ],
)
def test_what_was_raised_is_in_the_title(
    report: MakeReport, exception: str, suppressed: bool, rule: str
) -> None:
    message = "Dynamo failed to run it: call_function <matmul>(...): got RuntimeError('sizes differ, 8 X 7')"
    found = told(report, message, exception=exception, suppressed=suppressed, phase="dynamo")
    assert found.rule == rule
    assert found.summary.endswith("RuntimeError('sizes differ, 8 X 7')")
    assert found.evidence.notes == (message,)


def test_a_long_error_is_cut_and_says_so(report: MakeReport) -> None:
    assert told(report, "x" * 400).summary.endswith("(240 more characters)")
