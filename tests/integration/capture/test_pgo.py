"""The look-up of a profile of an earlier run: not done, done in vain, found, and worth a recompile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from compilescope.analysis import build_report
from compilescope.recording import open_recording

_PROGRAM = """
import torch
run = torch.compile(lambda x: x + 1, backend="eager")
for size in (3, 4, 5):
    run(torch.ones(size))
"""


def _lookups(scripts: Any, recording: Path, **env: str) -> tuple[int, list[tuple[str, int | None]]]:
    """Compiles of the program, and (outcome, functions in the profile) of its look-ups."""
    scripts.folder = recording
    recording.mkdir()
    assert scripts.run(_PROGRAM, env=env).returncode == 0
    report = build_report(open_recording(recording / "recording"))
    return report.totals.compiles, [(p.outcome, p.frames) for p in report.caches.profiles]


def test_a_profile_is_missed_then_found(scripts: Any, tmp_path: Path) -> None:
    job = {"TORCH_COMPILE_JOB_ID": "some-job", "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    assert _lookups(scripts, tmp_path / "first", **job) == (2, [("miss", None)])
    # The program and the recording are elsewhere, but the profile goes by the function's file.
    assert _lookups(scripts, tmp_path / "second", **job)[1] == [("hit", 1)]


def test_without_a_job_id_nobody_looks(recording: Any) -> None:
    with recording() as recorded:
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(3))
    (lookup,) = recorded.records("pgo")
    assert lookup.m["outcome"] == "bypass"
    assert "TORCH_COMPILE_JOB_ID" in lookup.m["reason"]
    with (
        torch.compiler.config.patch(job_id="another"),
        torch._dynamo.config.patch(automatic_dynamic_local_pgo=False),
        recording("off") as recorded,
    ):
        torch.compile(lambda x: x + 2, backend="eager")(torch.ones(3))
    (lookup,) = recorded.records("pgo")
    assert lookup.m["outcome"] == "bypass"
    assert "automatic_dynamic_local_pgo is off" in lookup.m["reason"]


def test_one_look_up_until_a_reset(recording: Any) -> None:
    with recording() as recorded:
        for _ in range(2):
            for size in (3, 4, 5):
                torch.compile(lambda x: x + 1, backend="eager")(torch.ones(size))
            torch._dynamo.reset()
    assert [lookup.c[3] for lookup in recorded.records("pgo")] == [0, 1]
