"""Eight programs without capture, with it, and without it again, told apart by nothing an observer sees.

The three runs share one fresh compiler cache, so the second and third also say whether capture changes a
cache key: every graph the first run compiled must be found again.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from compilescope.recording import open_recording

pytestmark = pytest.mark.xdist_group("capture_no_harm")

_PROGRAMS = Path(__file__).parent / "programs"
_ROOT = Path(__file__).parents[3]
_NAMES = (
    "mlp_training",
    "conv_net",
    "dynamic_shapes",
    "graph_breaks",
    "recompile_limit",
    "autograd_function_and_hooks",
    "compiled_optimizer_and_autograd",
    "dropout_in_threads",
)
_OF_INDUCTOR = {"aten_mm_info", "inductor", "aot_autograd"}  # counters that say hit or miss


class Run:
    """One run's answer and what it printed on stderr, without times, process ids and addresses."""

    def __init__(self, folder: Path, script: str, how: str, cache: Path) -> None:
        self.recording = folder / "recording"
        answer = folder / "answer.json"
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, str(_PROGRAMS / script), how, str(self.recording), str(answer)],
            env={
                **os.environ,
                "PYTHONPATH": str(_ROOT),
                "TORCHINDUCTOR_CACHE_DIR": str(cache),
                "TORCHINDUCTOR_COMPILE_THREADS": "1",
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        self.status = done.returncode
        self.stderr = normalized(done.stderr)
        self.answer: dict[str, Any] = json.loads(answer.read_text()) if answer.exists() else {}


def normalized(text: str) -> str:
    text = re.sub(r"([A-Z])\d{4} \d\d:\d\d:\d\d\.\d+ \d+ ", r"\1 ", text)
    return re.sub(r"0x[0-9a-f]{6,}|__compiled_fn\w+", "X", text)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder = tmp_path_factory.mktemp("no_harm")
    made = [
        Run(folder / str(n), "observe.py", how, folder / "cache")
        for n, how in enumerate(("without", "with", "without"))
    ]
    assert [(run.status, run.stderr if run.status else "") for run in made] == [(0, "")] * 3
    return made


def _told(runs: list[Run], name: str, what: str) -> list[Any]:
    return [run.answer["programs"][name][what] for run in runs]


@pytest.mark.parametrize("name", _NAMES)
def test_outputs_and_gradients_are_equal_to_the_bit(runs: list[Run], name: str) -> None:
    before, captured, after = _told(runs, name, "results")
    assert before == captured == after
    assert len(captured) > 1


@pytest.mark.parametrize("name", _NAMES)
def test_random_numbers_go_on_as_they_would(runs: list[Run], name: str) -> None:
    before, captured, after = _told(runs, name, "random")
    assert before == captured == after


@pytest.mark.parametrize("name", _NAMES)
def test_the_same_frames_compile_break_and_recompile(runs: list[Run], name: str) -> None:
    before, captured, after = (
        [event for event in events if "cache" not in event[0]] for events in _told(runs, name, "events")
    )
    assert before == captured == after
    assert {event[0] for event in captured} >= {"start", "compiled"}


@pytest.mark.parametrize("name", _NAMES)
def test_torchs_own_counters_are_the_same(runs: list[Run], name: str) -> None:
    before, captured, after = _told(runs, name, "counters")
    assert captured == after
    for counters in (before, captured):
        for hit_or_miss in _OF_INDUCTOR:
            counters.pop(hit_or_miss, None)
    assert before == captured


@pytest.mark.parametrize("name", _NAMES)
def test_threads_and_frame_evaluation_are_the_same_meanwhile(runs: list[Run], name: str) -> None:
    _, captured, after = _told(runs, name, "during")
    assert captured == after


def test_every_cached_graph_is_found_under_the_same_key(runs: list[Run]) -> None:
    keys = []
    for run in runs:
        events = [e for told in run.answer["programs"].values() for e in told["events"] if "cache" in e[0]]
        keys.append({(e[0].rsplit("_", 1)[0], e[2]) for e in events})
        kinds = {e[0].rsplit("_", 1)[1] for e in events}
        assert kinds == ({"miss"} if run is runs[0] else {"hit"})
    assert keys[0] == keys[1] == keys[2]
    assert {kind for kind, _ in keys[1]} == {"fx_graph_cache", "aotautograd_cache"}
    assert all(key for _, key in keys[1])


def test_torch_is_left_as_it_was_found(runs: list[Run]) -> None:
    _, captured, after = (run.answer for run in runs)
    assert captured["before"] == captured["after"] == after["after"]
    assert captured["after"]["wrapped"] == after["before"]["wrapped"]


def test_the_same_warnings_are_printed(runs: list[Run]) -> None:
    assert runs[1].stderr == runs[2].stderr
    assert "recompile_limit" in runs[1].stderr


def test_it_was_recorded_and_nothing_was_lost(runs: list[Run]) -> None:
    (process,) = open_recording(runs[1].recording).processes
    records = list(process.records())
    kinds = {r.k for r in records}
    assert {"convert", "graph", "guard_fail", "limit", "runs", "fx_graph", "end"} <= kinds
    assert [r.x for r in records if r.k == "lost"] == []
    assert process.damage == []


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    folder = tmp_path_factory.mktemp("failing")
    return {how: Run(folder / how, "failing.py", how, folder / "cache") for how in ("without", "with")}


_FRAME = re.compile(r"( *)File \"[^\"]*\", line \d+, in \w+\n(?:\1  .*\n)*")


def _without_wrappers(stderr: str) -> str:
    """A wrapper is a frame of its own in a traceback; where it stands is not what a program depends on."""
    ours = ("/_dynamo/convert_frame.py", "/_dynamo/output_graph.py", "/compilescope/capture/_graphs.py")
    text = re.sub(r"(?m)^[A-Z] \S*torch/\S+ (?:\[\S+\] )?", "", stderr)
    return _FRAME.sub(lambda m: "" if any(name in m.group() for name in ours) else m.group(), text)


def test_failing_programs_fail_with_the_same_exceptions_and_status(failing: dict[str, Run]) -> None:
    captured, plain = failing["with"], failing["without"]
    assert captured.status == plain.status == 1
    assert _without_wrappers(captured.stderr) == _without_wrappers(plain.stderr)
    assert captured.stderr.count("\n== ") == plain.stderr.count("\n== ") == 7
    assert "no such code generator" in plain.stderr
