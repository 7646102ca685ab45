"""Recordings by the real writer for one example of a property, and ways to damage their files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import strategies as st

from compilescope.recording import Writer


@contextmanager
def recorded(*records: dict[str, Any]) -> Iterator[tuple[Path, list[bool]]]:
    with TemporaryDirectory() as folder:
        root = Path(folder) / "r"
        writer = Writer(root, {})
        results = [writer.record(**record) for record in records]
        writer.close()
        yield root, results


def edits() -> st.SearchStrategy[list[Any]]:
    edit = st.tuples(
        st.sampled_from(["flip", "delete", "insert", "zero", "cut"]),
        st.floats(0, 1, exclude_max=True),
        st.binary(min_size=1, max_size=20),
    )
    return st.lists(edit, min_size=1, max_size=3)


def edited(content: bytearray, changes: list[Any]) -> bytes:
    for how, where, noise in changes:
        at = int(where * len(content))
        if how == "flip" and content:
            content[at] ^= noise[0]
        elif how == "delete":
            del content[at : at + len(noise)]
        elif how == "insert":
            content[at:at] = noise
        elif how == "zero":
            content[at : at + len(noise)] = bytes(len(content[at : at + len(noise)]))
        elif how == "cut":
            del content[at:]
    return bytes(content)
