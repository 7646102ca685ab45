"""Builds TORCH_TRACE logs, whole and damaged."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard

sys.path.insert(0, str(Path(__file__).parent))  # its helpers, under importlib mode
LOGS = Path(__file__).parent / "logs"


class LogBuilder:
    """Gathers records as torch writes them; ``offsets`` are where each begins."""

    def __init__(self) -> None:
        self.content = b""
        self.offsets: list[int] = []
        self._second = 0

    def add(
        self,
        event: dict[str, Any],
        payload: str | None = None,
        *,
        pid: int = 77,
        md5: str | None = None,
        same_time: bool = False,
        **ids: Any,
    ) -> LogBuilder:
        envelope = {**event, **ids}
        body = b""
        if payload is not None:
            text = payload.encode()
            envelope["has_payload"] = md5 or hashlib.md5(text).hexdigest()
            body = b"".join(b"\t" + line + b"\n" for line in text.split(b"\n"))
        self._second += not same_time
        stamp = f"V1129 10:{self._second // 60 % 60:02}:{self._second % 60:02}.123000"
        return self.raw(f"{stamp} {pid} torch/_dynamo/x.py:12] {json.dumps(envelope)}\n".encode() + body)

    def raw(self, content: bytes) -> LogBuilder:
        self.offsets.append(len(self.content))
        self.content += content
        return self

    def string(self, number: int, text: str, **ids: Any) -> LogBuilder:
        return self.add({"str": [text, number]}, **ids)

    def start(self, frame: int, recompile: int = 0, file: int = 0, **ids: Any) -> LogBuilder:
        stack = [{"line": 3, "name": "f", "filename": file}]
        return self.add({"dynamo_start": {"stack": stack}}, **compile_id(frame, recompile), **ids)

    def artifact(self, name: str, payload: str, frame: int = 0, **ids: Any) -> LogBuilder:
        event = {"artifact": {"name": name, "encoding": "string"}}
        return self.add(event, payload, **compile_id(frame), **ids)

    def phase(self, ph: str, name: str, ts: float, **ids: Any) -> LogBuilder:
        payload = json.dumps({"name": name, "ph": ph, "ts": ts, "tid": 0, "pid": 0, "args": {}})
        return self.add({"chromium_event": {}}, payload, **ids)

    def write(self, path: Path) -> Path:
        path.write_bytes(self.content)
        return path


def compile_id(frame: int, recompile: int = 0) -> dict[str, int]:
    return {"frame_id": frame, "frame_compile_id": recompile, "attempt": 0}


@pytest.fixture
def log() -> LogBuilder:
    return LogBuilder()


@pytest.fixture
def small_log() -> LogBuilder:
    """A string table, two compiles, phases and artifacts."""
    log = LogBuilder().string(0, "/home/u/train.py").phase("B", "dynamo", 1.7e15)
    log.start(0).artifact("code", "def f():\n\treturn 1\n\nend").phase("E", "dynamo", 1.7e15 + 5)
    return log.start(1).artifact("code", "x\r\ny").artifact("empty", "")


@pytest.fixture(scope="session")
def real_log_bytes() -> bytes:
    """The first records of a real log of torch 2.13."""
    packed = (LOGS / "cpu-torch213-train.log.zst").read_bytes()
    return zstandard.ZstdDecompressor().stream_reader(packed).read(600_000)
