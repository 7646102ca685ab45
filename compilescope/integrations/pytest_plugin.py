"""pytest: a marker that fails a test whose code breaks graphs or recompiles, and a fixture to record with.

Loaded by every pytest run of an environment: nothing of ours or torch's is imported before a test asks.
"""

from __future__ import annotations

import difflib
import logging
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from compilescope.advice import Finding
    from compilescope.notebook import profile

_MARKER = "compilescope"
_FIXTURE = "compilescope_profile"
_HELP = (
    f"{_MARKER}(max_breaks=0, max_recompiles=0, max_limit_hits=0, max_failures=0, max_eager_calls=None, "
    "max_compile_s=None, min_graphs=1, after_step=None, reset=True): fail the test when torch.compile does "
    "worse in it"
)
# argument of the marker: name of the budget, and of the report's rows that explain it
_LIMITS = {
    "max_breaks": ("graph-breaks", "graph_breaks"),
    "max_recompiles": ("recompiles", "recompiles"),
    "max_limit_hits": ("limit-hits", "limit_hits"),
    "max_failures": ("failures", "failures"),
    "max_eager_calls": ("eager-calls", "limit_hits"),
    "max_compile_s": ("compile-s", ""),
}
_DEFAULTS: dict[str, Any] = {
    "max_breaks": 0,
    "max_recompiles": 0,
    "max_limit_hits": 0,
    "max_failures": 0,
    "max_eager_calls": None,
    "max_compile_s": None,
    "min_graphs": 1,
    "after_step": None,
    "reset": True,
}
_TRACE = logging.getLogger("torch.__trace")
_used = pytest.StashKey["profile"]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _HELP)


@pytest.fixture
def compilescope_profile(request: pytest.FixtureRequest, tmp_path: Path) -> profile:
    """A ``compilescope.profile`` that records the block it is entered for (``with compilescope_profile:``).

    Afterwards ``compilescope_profile.report`` has what happened. It can be entered again.
    """
    from compilescope import profile

    made = request.node.stash[_used] = profile(tmp_path / "test.compilescope", force=True)
    return made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    marker = item.get_closest_marker(_MARKER)
    if marker is None:
        return (yield)
    wanted = _arguments(marker)
    if _used in item.stash:
        result = yield
        _require(item.stash[_used], wanted)
        return result
    if _is_recorded():
        told = "this process is recorded already: marker not checked"
        warnings.warn(pytest.PytestWarning(told), stacklevel=1)
        return (yield)
    folder = Path(tempfile.mkdtemp(prefix="compilescope-"))
    recording = _Recording(folder / "test.compilescope", reset=bool(wanted["reset"]))
    try:
        result = yield
    except BaseException:
        recording.stop()
        shutil.rmtree(folder, ignore_errors=True)
        raise
    recording.stop()
    _require(recording.profile, wanted)
    shutil.rmtree(
        folder, ignore_errors=True
    )  # kept where the line above failed the test: it names the folder
    return result


class _Recording:
    """From now on, or from the import of torch on where the test imports it itself."""

    def __init__(self, folder: Path, *, reset: bool) -> None:
        from compilescope import profile
        from compilescope.capture._imports import after_import

        self.profile: profile | None = None
        self._made = profile(folder, force=True)
        if reset and "torch._dynamo" in sys.modules:
            sys.modules["torch._dynamo"].reset()  # what earlier tests compiled is none of this one's
        self._muted: list[logging.Handler] = []
        self._call_off: Callable[[], None] = after_import("torch", self._start)

    def _start(self) -> None:
        self._mute()
        self._made.__enter__()
        self.profile = self._made

    def _mute(self) -> None:
        """pytest listens to torch's trace too, and would print hundreds of empty lines with a failure."""
        self._muted = [h for h in _TRACE.handlers if type(h).__module__ == "_pytest.logging"]
        for handler in self._muted:
            _TRACE.removeHandler(handler)

    def stop(self) -> None:
        self._call_off()
        if self.profile is not None:
            self.profile.__exit__(None, None, None)
        for handler in self._muted:
            _TRACE.addHandler(handler)


def _is_recorded() -> bool:
    capture = sys.modules.get("compilescope.capture")
    return capture is not None and capture.is_attached()


def _arguments(marker: pytest.Mark) -> dict[str, Any]:
    if marker.args:
        pytest.fail(f"the marker {_MARKER} takes no positional arguments", pytrace=False)
    for name in marker.kwargs:
        if name not in _DEFAULTS:
            close = difflib.get_close_matches(name, _DEFAULTS, n=1)
            hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(_DEFAULTS)}"
            pytest.fail(f"the marker {_MARKER} has no argument {name!r}; {hint}", pytrace=False)
    return {**_DEFAULTS, **marker.kwargs}


def _require(made: profile | None, wanted: Mapping[str, Any]) -> None:
    """Fail the test with the findings' words."""
    if made is None:
        if wanted["min_graphs"]:
            pytest.fail(f"{_MARKER}: the test never imported torch, so nothing was compiled", pytrace=False)
        return
    from compilescope.errors import CompileScopeError

    try:
        text = _complaint(made.path, wanted)
    except CompileScopeError as problem:
        text = f"{_MARKER}: {problem}"
    if text:
        pytest.fail(text, pytrace=False)


def _complaint(recording: Path, wanted: Mapping[str, Any]) -> str:
    from compilescope.advice import examine
    from compilescope.advice.budgets import Budgets
    from compilescope.advice.gate import check
    from compilescope.model import load
    from compilescope.recording import open_recording
    from compilescope.trial.after_step import after_step

    opened = open_recording(recording)
    run = load(opened)
    report, findings = examine(run)
    if report.totals.graphs < wanted["min_graphs"]:
        told = f"{report.totals.graphs} graphs compiled, at least {wanted['min_graphs']} wanted"
        return f"{_MARKER}: {told}\n{' '.join(report.verdict.sentences)}"
    after = ""
    if wanted["after_step"] is not None:
        found = after_step(opened, run, wanted["after_step"])
        after = f" (after step {found.step} of {found.count}; steps are {found.basis})"
        report, findings = examine(found.run)
    limits = {
        budget: float(wanted[name]) for name, (budget, _) in _LIMITS.items() if wanted[name] is not None
    }
    outcomes = check(report, findings, Budgets(fail=limits), None).of("fail")
    if not outcomes:
        return ""
    rows = [f"{_MARKER}: {outcome.text}{after}" for outcome in outcomes]
    kinds = {kind for budget, kind in _LIMITS.values() if any(o.text.startswith(budget) for o in outcomes)}
    for finding in findings:
        if any(ref.split("[")[0] in kinds for ref in finding.refs):
            rows += ["", *_words(finding)]
    return "\n".join([*rows, "", f"more: compilescope summary {recording}"])


def _words(finding: Finding) -> list[str]:
    """``file:line: what``, the line itself, and what to change."""
    from compilescope.advice import findings_json
    from compilescope.units import visible
    from compilescope.views.finding_words import finding_words

    words = finding_words(findings_json([finding])[0])
    rows = [f"{finding.place}: {words.title} [{words.rule}]"]
    rows += [f"    {words.code.strip()}"] if words.code else []
    rows += [f"  {change}" for change in words.changes[:2]]
    rows += [f"  cost: {words.cost}"] if words.costs else []
    rows += [f"  fix: {words.fix}"] if words.fix else []
    rows += [f"  {words.command}"] if words.command else []
    return [visible(row) for row in rows]
