"""Recordings for tests of the model: by the real writer, or as records with no file behind them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from compilescope.model import Process, load
from compilescope.recording import ProcessRecording, Record, Writer, open_recording

HEAD: dict[str, Any] = {"argv": ["python", "train.py"], "cwd": "/home/user", "versions": {"torch": "2.13.0"}}


class Recorder:
    """A short way to write records of one process; ``load`` closes it unless it is to look killed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.writer = Writer(root, HEAD)

    def add(self, kind: str, m: dict[str, Any] | None = None, **more: Any) -> Recorder:
        c, payload = more.pop("c", None), more.pop("payload", None)
        fields = {**more, **({"m": m} if m is not None else {})}
        self.writer.record(kind, fields, c=c, payload=payload, payload_kind=kind if payload else None)
        return self

    def compiled(self, frame: int, recompile: int = 0, *, epoch: int = 0, **metrics: Any) -> Recorder:
        """dynamo_start and compilation_metrics of a compile that produced code."""
        file = self.writer.file_id("/home/user/train.py")
        stack = [{"line": 3, "name": "f", "filename": file}]
        self.add("dynamo_start", {"stack": stack}, c=(frame, recompile, 0, epoch), call=[[file, 9, "main"]])
        m = {
            "co_name": "f",
            "co_filename": "/home/user/train.py",
            "co_firstlineno": 3,
            "cache_size": recompile,
        }
        m |= {"has_guarded_code": True, "entire_frame_compile_time_s": 0.5, **metrics}
        return self.add("compilation_metrics", m, c=(frame, recompile, 0, epoch))

    def process(self, *, killed: bool = False) -> Process:
        if not killed:
            self.writer.close()
        (process,) = load(open_recording(self._root)).processes
        return process


class FakeLog(ProcessRecording):
    """A process of a raw log: records without a file, epochs unknown."""

    kind = "torch_trace"

    def __init__(self, records: list[Record]) -> None:
        super().__init__("pid1")
        self._records = records

    @property
    def complete(self) -> bool:
        return False

    def records(self, kinds: Collection[str] | None = None) -> Iterator[Record]:
        return iter(self._records)

    def file(self, number: int | None) -> str | None:
        return "/home/user/train.py"

    def text(self, value: object) -> str | None:
        return value if isinstance(value, str) else None


def record(kind: str, c: tuple[int | None, ...] | None, m: dict[str, Any] | None = None) -> Record:
    return Record(k=kind, c=c, ca=None, t=1, th=1, m=m or {}, p=None, stack=None, x={}, offset=0)
