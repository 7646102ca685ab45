"""The plugin in pytest runs of its own, over real torch.compile."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest

pytest_plugins = ["pytester"]

PROGRAM = """
import pytest
import torch

@torch.compile(backend="eager", dynamic=False)
def double(x):
    return x * 2

@torch.compile(backend="eager")
def noisy(x):
    print("x")
    return x * 2

@pytest.mark.compilescope
def test_one_graph():
    assert double(torch.ones(3)).sum() == 6

@pytest.mark.compilescope(max_recompiles=1)
def test_a_break():
    noisy(torch.ones(3))

@pytest.mark.compilescope
@pytest.mark.parametrize("size", [4, 5])
def test_sizes_of_other_tests_do_not_count(size):
    double(torch.ones(size))

@pytest.mark.compilescope
def test_a_recompile():
    for size in (4, 5, 6):
        double(torch.ones(size))

@pytest.mark.compilescope(max_recompiles=0, after_step=3)
def test_warm_up():
    for size in (4, 5, 6, 4, 5, 6):
        double(torch.ones(size))

@pytest.mark.compilescope
def test_nothing():
    pass

@pytest.mark.compilescope(min_graphs=0)
def test_nothing_and_that_is_right():
    pass

@pytest.mark.compilescope(max_break=0)
def test_a_typo():
    pass

@pytest.mark.compilescope
def test_its_own_failure_is_its_own():
    noisy(torch.ones(3))
    assert 1 == 2

@pytest.mark.compilescope
def test_skipped():
    pytest.skip("not today")

def test_the_fixture(compilescope_profile):
    double(torch.ones(9))
    with compilescope_profile as p:
        double(torch.ones(10))
    assert p.report.totals.recompiles == 1
    assert p.report.totals.compiles == 1

@pytest.mark.compilescope(max_recompiles=0)
def test_the_marker_judges_the_block_of_the_fixture(compilescope_profile):
    double(torch.ones(20))
    double(torch.ones(21))
    with compilescope_profile:
        double(torch.ones(22))

def test_not_marked():
    noisy(torch.ones(3))
"""
FAILED = {
    "test_a_break",
    "test_a_recompile",
    "test_nothing",
    "test_a_typo",
    "test_its_own_failure_is_its_own",
    "test_the_marker_judges_the_block_of_the_fixture",
}
UNUSED = """
import sys

def test_no_torch():
    assert "torch" not in sys.modules
    ours = {name for name in sys.modules if name.startswith("compilescope.")}
    assert ours <= {"compilescope.integrations", "compilescope.integrations.pytest_plugin"}
"""
LATE = """
import sys
import pytest

@pytest.mark.compilescope
def test_imports_torch_itself():
    assert "torch" not in sys.modules
    import torch
    f = torch.compile(lambda x: print("x") or x * 2, backend="eager")
    f(torch.ones(3))

@pytest.mark.compilescope
def test_never_compiles():
    pass
"""
MODULE = "compilescope.integrations.pytest_plugin"
# Where the package is installed with its entry point, pytest loads the plugin by itself.
IS_INSTALLED = any(entry.value == MODULE for entry in entry_points(group="pytest11"))
ARGS = (*(() if IS_INSTALLED else ("-p", MODULE)), "-rA", "--strict-markers")


@pytest.fixture
def pytester_run(pytester, monkeypatch):
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)

    def run(code: str, *args: str):
        pytester.makepyfile(code)
        return pytester.runpytest_subprocess(*ARGS, *args)

    return run


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_marked_tests_fail_with_the_findings_words(pytester_run, workers):
    done = pytester_run(PROGRAM, *workers)
    done.assert_outcomes(failed=len(FAILED), passed=7, skipped=1)
    failed = {line.split("::")[1].split(" ")[0] for line in done.outlines if line.startswith("FAILED")}
    assert failed == FAILED
    text = done.stdout.str()
    assert "compilescope: graph-breaks: 1 is more than 0" in text
    assert ":10: noisy(): " in text
    assert '    print("x")' in text
    assert "[print_in_compiled_region]" in text
    assert "compilescope: recompiles: 2 is more than 0" in text
    assert "no argument 'max_break'; did you mean max_breaks?" in text
    assert "assert 1 == 2" in text
    assert "0 graphs compiled, at least 1 wanted" in text


def test_nothing_is_imported_for_tests_that_ask_for_nothing(pytester_run):
    pytester_run(UNUSED).assert_outcomes(passed=1)


def test_a_test_that_imports_torch_itself_is_recorded_from_then_on(pytester_run):
    done = pytester_run(LATE)
    done.assert_outcomes(failed=2)
    text = done.stdout.str()
    assert "graph-breaks: 1 is more than 0" in text
    assert "0 graphs compiled" in text


def test_a_test_without_torch_says_so(pytester_run):
    done = pytester_run(LATE, "-k", "never")
    done.assert_outcomes(failed=1)
    assert "never imported torch" in done.stdout.str()


def test_the_marker_is_listed(pytester_run):
    assert "max_recompiles=0" in pytester_run("", "--markers").stdout.str()
