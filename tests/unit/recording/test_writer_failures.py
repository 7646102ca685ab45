"""Full disks, read-only places, values that cannot be written: counted, said once, never raised."""

from __future__ import annotations

import enum
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compilescope.recording import Writer, open_recording

_FULL_DISK = """
import resource, sys, time
from pathlib import Path
from compilescope.recording import writer as module
module._RETRY_S = 0.05
w = module.Writer(Path(sys.argv[1]), {}, on_failure=lambda text: print("FAILED", text))
limit = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), limit[1]))
results = [w.record("a", {"m": {"i": i, "pad": "p" * 300}}, payload=f"{i} " * 300) for i in range(60)]
resource.setrlimit(resource.RLIMIT_FSIZE, limit)
time.sleep(0.1)
results += [w.record("a", {"m": {"i": i}}) for i in range(60, 70)]
w.close()
print(sum(results))
"""


@pytest.mark.parametrize("limit_bytes", [10, 100, 300, 1000, 5000, 5001, 5300])
def test_a_full_disk_is_said_once_and_what_was_lost_is_counted(tmp_path: Path, limit_bytes: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FULL_DISK, str(tmp_path / "r"), str(limit_bytes)],
        capture_output=True,
        text=True,
        check=True,
    )
    *messages, written = done.stdout.splitlines()
    assert len(messages) == 1
    assert "cannot write the recording" in messages[0]
    [process] = open_recording(tmp_path / "r").processes
    records = list(process.records())
    whole = [record.m["i"] for record in records if record.k == "a"]
    assert len(whole) == int(written)
    assert whole[-10:] == list(range(60, 70))
    assert sum(record.x["n"] for record in records if record.k == "lost") == 70 - len(whole)
    assert all(process.text(record.p) is not None for record in records if record.p)
    assert records[0].k == "head"
    assert process.complete
    assert {damage.kind for damage in process.damage} <= {"bad-line"}


def test_a_place_that_cannot_be_written_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    said: list[str] = []
    writer = Writer(tmp_path / "file" / "r", {}, on_failure=said.append)
    assert not writer.record("a")
    assert not writer.record("b")
    writer.lost("c")
    writer.close()
    assert len(said) == 1
    assert str(tmp_path / "file") in said[0]


def test_a_failing_on_failure_stays_inside(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    def broken(text: str) -> None:
        raise RuntimeError(text)

    assert not Writer(tmp_path / "file" / "r", {}, on_failure=broken).record("a")


def test_closing_twice_and_recording_after(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "r", {})
    writer.record("a")
    writer.close("detach")
    writer.close()
    assert not writer.record("b")
    [process] = open_recording(tmp_path / "r").processes
    assert [record.k for record in process.records()] == ["head", "a", "end"]


def test_a_head_that_fails_costs_only_itself(tmp_path: Path) -> None:
    def head() -> dict[str, object]:
        raise OSError("no versions")

    writer = Writer(tmp_path / "r", head)
    assert writer.record("a")
    [process] = open_recording(tmp_path / "r").processes
    assert [record.k for record in process.records()] == ["head", "lost", "a"]


class Version(str):
    """Like torch's TorchVersion."""


class Color(str, enum.Enum):  # noqa: UP042 - the older form, whose str() is not its value
    RED = "red"


class Tensor:
    __torch_function__ = None

    def __str__(self) -> str:
        raise AssertionError("a tensor was read")


class Broken:
    def __str__(self) -> str:
        raise RuntimeError("no text")


def endless() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


def write_one(tmp_path: Path, value: object) -> Iterator[Any]:
    writer = Writer(tmp_path / "r", {})
    assert writer.record("a", {"m": {"v": value}})
    [process] = open_recording(tmp_path / "r").processes
    for line in (tmp_path / "r" / process.id / "events.jsonl").read_bytes().splitlines():
        json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    return (record.m.get("v") for record in process.records() if record.k == "a")


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (Version("2.13.0+cpu"), "2.13.0+cpu"),
        (Color.RED, "red"),
        (enum.IntEnum("E", "x").x, 1),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (2**70, str(2**70)),
        (-(2**63), -(2**63)),
        ({3, 1, 2}, [1, 2, 3]),
        ((1, (2,)), [1, [2]]),
        ({(1, 2): "t", None: "n", True: "b"}, {"(1, 2)": "t", "None": "n", "True": "b"}),
        ({"$": [1, 2, 3, "x"], "$j": 1, "$$": 2}, {"$": [1, 2, 3, "x"], "$j": 1, "$$": 2}),
        ("lone \udcff surrogate", "lone \\udcff surrogate"),
        ({"\ud800": 1}, {"\\ud800": 1}),
        (b"raw \xff", "raw \\xff"),
        (Path("/a"), "/a"),
        (Tensor(), "<Tensor>"),
        (None, None),
    ],
)
def test_values_that_json_does_not_know(tmp_path: Path, value: object, read: object) -> None:
    assert list(write_one(tmp_path, value)) == [read]


def test_a_value_that_contains_itself_is_cut(tmp_path: Path) -> None:
    assert len(list(write_one(tmp_path, endless()))) == 1


def test_a_value_without_text_is_counted_as_lost(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "r", {})
    assert not writer.record("a", {"m": {"v": Broken()}})
    assert writer.record("b")
    [process] = open_recording(tmp_path / "r").processes
    [lost] = process.records(("lost",))
    assert (lost.x["why"], lost.x["n"]) == ("not encodable: a: RuntimeError", 1)


def test_a_dict_that_another_thread_changes(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "r", {})
    live: dict[str, int] = {}
    stop = threading.Event()

    def grow() -> None:
        while not stop.is_set():
            live[str(len(live) % 5000)] = 1
            live.pop(str((len(live) * 7) % 5000), None)

    thread = threading.Thread(target=grow)
    thread.start()
    try:
        assert all(writer.record("a", {"m": live}) for _ in range(200))
    finally:
        stop.set()
        thread.join()


def test_a_wrong_digest_is_not_believed_for_a_text_that_is_not_utf8(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "r", {})
    writer.record("a", payload="\udcff", md5="0" * 32)
    [process] = open_recording(tmp_path / "r").processes
    assert [process.text(record.p) for record in process.records() if record.p] == ["\\udcff"]
