"""User frames: the program's own and its packages', never torch's, Python's or ours."""

from __future__ import annotations

import linecache
import os
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import torch

from compilescope.capture import _stacks
from compilescope.capture._stacks import MAX_FRAMES, Stacks


@pytest.fixture
def stacks(written: Any) -> Stacks:
    return Stacks(written.writer, str(Path(torch.__file__).parent))


@pytest.mark.parametrize(
    ("filename", "user", "library"),
    [
        ("/home/me/train.py", True, False),
        ("/venv/lib/python3.11/site-packages/timm/layers.py", True, True),
        ("/usr/lib/python3/dist-packages/timm/layers.py", True, True),
        ("/home/me/torch/train.py", True, False),
        (f"{Path(torch.__file__).parent}/nn/modules/module.py", False, True),
        (f"{Path(_stacks.__file__).parent}/_stacks.py", False, True),
        (f"{sysconfig.get_path('stdlib')}/threading.py", False, True),
        ("<frozen importlib._bootstrap>", False, True),
        ("<eval_with_key>.3", False, True),
        ("<ipython-input-1-abc>", True, False),
        ("/tmp/ipykernel_1/123.py", True, False),
    ],
)
def test_whose_file_it_is(stacks: Stacks, filename: str, user: bool, library: bool) -> None:
    assert (stacks.is_user_file(filename), stacks.is_library(filename)) == (user, library)


def _call_through(filename: str, depth: int, action: Any) -> Any:
    source = "def step(n):\n    return action() if n == 0 else step(n - 1)\n"
    scope: dict[str, Any] = {"action": action}
    exec(compile(source, filename, "exec"), scope)
    return scope["step"](depth)


def test_frames_come_innermost_first_and_are_capped(stacks: Stacks, written: Any) -> None:
    frames = _call_through("/home/me/deep.py", 50, stacks.user_frames)
    assert len(frames) == MAX_FRAMES
    assert {tuple(frame) for frame in frames} == {(stacks.file_id("/home/me/deep.py"), 2, "step")}
    frames = _call_through("/home/me/deep.py", 0, stacks.user_frames)
    names = [frame[2] for frame in frames]
    assert names[:3] == ["step", "_call_through", "test_frames_come_innermost_first_and_are_capped"]


def test_a_source_is_stored_once_with_its_text(stacks: Stacks, written: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_bytes(b"# caf\xe9\nx = 1\n")
    assert stacks.file_id(str(path)) == stacks.file_id(str(path))
    (record,) = written.records("source")
    assert record.m["path"] == str(path)


def test_a_notebook_cell_is_stored_from_linecache(stacks: Stacks, written: Any) -> None:
    name = "<ipython-input-7-cell>"
    linecache.cache[name] = (6, None, ["x = 1\n"], name)
    try:
        stacks.file_id(name)
    finally:
        del linecache.cache[name]
    assert [r.m["path"] for r in written.records("source")] == [name]


def test_what_has_no_text_is_named_without(stacks: Stacks, written: Any, tmp_path: Path) -> None:
    huge = tmp_path / "huge.py"
    huge.write_text("#" * (_stacks.MAX_SOURCE_BYTES + 1))
    fifo = tmp_path / "pipe.py"
    os.mkfifo(fifo)
    for path in (huge, fifo, tmp_path, tmp_path / "gone.py"):
        stacks.file_id(str(path))
    written.writer.record("x", {})
    assert written.records("source") == []
    assert len(written.records("name")) == 4


def test_hostile_file_names_cost_nothing_but_their_text(stacks: Stacks, written: Any) -> None:
    names = ["", "\0", "a\nb", "\ud800.py", "/" + "x" * 5000, "../../etc/passwd\x1b[31m"]
    ids = [stacks.file_id(name) for name in names]
    assert len(set(ids)) == len(names)
    written.session.writer.record("x", {"m": {"ids": ids}})
    assert written.records("lost") == []


def test_a_forked_child_stores_sources_again(stacks: Stacks, written: Any) -> None:
    stacks.file_id(__file__)
    stacks.forked()
    stacks.file_id(__file__)
    assert len(written.records("source")) == 2
