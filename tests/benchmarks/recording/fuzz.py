"""Damages real logs and recordings at random and opens them, until the time is up.

    python tests/benchmarks/recording/fuzz.py [--minutes 10] [--seed N]

A finding is any exception but RecordingError, or an input that takes longer than ten times what it takes
whole. The input is kept, under the seed that made it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import sys
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable
from pathlib import Path

from big_log import records

from compilescope.errors import RecordingError
from compilescope.recording import Writer, open_recording, pack_recording

_LINE = re.compile(rb"(?m)^")
_SLOWER = 10
_LEAST_S = 2.0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**9)
    arguments = parser.parse_args()
    end_s = time.monotonic() + 60 * arguments.minutes
    folder = Path(tempfile.mkdtemp(prefix="compilescope-fuzz-"))
    whole = make_inputs(folder)
    whole_s = {path: timed(path)[0] for path in whole}
    seed, findings = arguments.seed, 0
    while time.monotonic() < end_s:
        seed += 1
        path = random.Random(seed).choice(whole)
        findings += try_one(path, seed, _SLOWER * whole_s[path] + _LEAST_S)
    print(f"{seed - arguments.seed} inputs from seed {arguments.seed}, {findings} findings, in {folder}")
    return int(findings > 0)


def make_inputs(folder: Path) -> list[Path]:
    """A log, and a recording with its zip file, of the same real compiles."""
    log = folder / "whole.log"
    parts = [
        prefix + json.dumps(envelope).encode() + b"\n" + body
        for prefix, envelope, body in list(records())[:800]
    ]
    log.write_bytes(b"".join(parts))
    [process] = open_recording(log).processes
    root = folder / "recording"
    writer = Writer(root, {"argv": ["train.py"]})
    for record in process.records():
        text = process.text(record.p)
        writer.record(record.k, record.x | {"m": record.m}, c=record.c, payload=text)
    writer.close()
    pack_recording(root, folder / "whole.zip")
    with zipfile.ZipFile(folder / "deflated.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in root.rglob("*.*"):
            archive.write(path, path.relative_to(root))
    packed = [folder / "whole.log.gz", folder / "whole.zip", folder / "deflated.zip"]
    packed[0].write_bytes(gzip.compress(log.read_bytes()))
    return [log, *packed, *root.glob("*/events.jsonl"), *root.glob("*/payloads.pack")]


def try_one(path: Path, seed: int, limit_s: float) -> bool:
    content = path.read_bytes()
    damaged = damage(content, random.Random(seed))
    try:
        if path.name in ("events.jsonl", "payloads.pack"):
            path.write_bytes(damaged)
            took_s, error = timed(path.parent)
        else:
            other = path.with_name("damaged-" + path.name)
            other.write_bytes(damaged)
            took_s, error = timed(other)
    finally:
        path.write_bytes(content)
    if error is None and took_s < limit_s:
        return False
    kept = path.with_name(f"finding-{seed}-{path.name}")
    kept.write_bytes(damaged)
    print(f"seed {seed}: {kept}: {took_s:.1f} s\n{error or 'too slow'}", flush=True)
    return True


def timed(path: Path) -> tuple[float, str | None]:
    """CPU seconds to read everything, and the traceback of what should not have been raised."""
    start_s = time.process_time()
    error = None
    try:
        for process in open_recording(path).processes:
            for record in process.records():
                process.text(record.p)
                process.file(0)
            _ = process.complete, process.damage
    except RecordingError:
        pass
    except Exception:
        error = traceback.format_exc()
    return time.process_time() - start_s, error


def damage(content: bytes, dice: random.Random) -> bytes:
    for _ in range(dice.choice((1, 1, 2, 5, 30))):
        content = dice.choice(_MUTATIONS)(content, dice)
    return content


def _flip(content: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(content) + 1)
    return content[:at] + bytes([dice.randrange(256)]) + content[at + 1 :]


def _cut(content: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(content) + 1)
    return content[:at] if dice.random() < 0.2 else content[:at] + content[at + dice.randrange(5000) :]


def _insert(content: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(content) + 1)
    noise = (b"\n", b"\t", b"\r\n", b"\0" * 4096, b"V1129 ", b'"}', b"[" * 5000, b"\xff\xfe", b"-", b"9" * 20)
    return content[:at] + dice.choice(noise) + content[at:]


def _repeat(content: bytes, dice: random.Random) -> bytes:
    start = dice.randrange(len(content) + 1)
    end = start + dice.randrange(20_000)
    return content[:end] + content[start:]


def _shuffle_lines(content: bytes, dice: random.Random) -> bytes:
    lines = _LINE.split(content)
    for _ in range(3):
        one, other = dice.randrange(len(lines)), dice.randrange(len(lines))
        lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def _change_number(content: bytes, dice: random.Random) -> bytes:
    numbers = list(re.finditer(rb"\d+", content[: 200_000 + dice.randrange(200_000)]))
    if not numbers:
        return content
    found = dice.choice(numbers)
    other = dice.choice((b"0", b"-1", b"99999999999999999999", b"1e400", b"null", b'"x"', b"{}"))
    return content[: found.start()] + other + content[found.end() :]


_MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flip,
    _cut,
    _insert,
    _repeat,
    _shuffle_lines,
    _change_number,
)

if __name__ == "__main__":
    sys.exit(main())
