"""Whatever a recording, a log or an archive holds: a documented status, no traceback, nothing acted upon."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from commands import WHOLE, findings
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from compilescope.recording import open_recording


@settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(seed=st.integers(0, 2**32))
@example(seed=658)  # a graph break of a compile of which nothing else is left
def test_commands_on_what_was_tampered_with(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert list(findings(seed, tmp_path_factory.mktemp("tampered"), page=seed % 8 == 0)) == []


@settings(max_examples=40, deadline=None, derandomize=True)
@given(part=st.floats(0, 1), number=st.integers(0, len(WHOLE) - 1))
def test_a_cut_file_says_what_is_gone(
    part: float, number: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("cut") / "run.compilescope"
    with zipfile.ZipFile(WHOLE[number]) as archive:
        archive.extractall(root)
    events = _events(root)
    content = events.read_bytes()
    kept = content[: int(part * len(content))]
    events.write_bytes(kept)
    [process] = [p for p in open_recording(root).processes if p.id == events.parent.name]
    read = sum(1 for _ in process.records())
    assert read == kept.count(b"\n")
    assert process.complete == (kept == content)
    torn = bool(kept) and not kept.endswith(b"\n") and not process.live  # of a live one more may come
    assert ("torn-line" in {damage.kind for damage in process.damage}) == torn


def _events(root: Path) -> Path:
    """Of the first process, unpacked."""
    import zstandard

    packed = min(root.rglob("events.jsonl.zst"))
    with packed.open("rb") as file:
        packed.with_suffix("").write_bytes(zstandard.ZstdDecompressor().stream_reader(file).read())
    packed.unlink()
    return packed.with_suffix("")
