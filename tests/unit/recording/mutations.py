"""Recordings, logs and archives as an enemy, a full disk or a bad network would leave them."""

from __future__ import annotations

import json
import random
import shutil
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

CANARY = "<script>canary()</script>[red]canary[/red]\x1b[31m\x07\u202e\x00\x9b2J"
HUGE = "A" * 200_000
_HOSTILE: tuple[Any, ...] = (
    CANARY, HUGE, "\ud800", "../../../../tmp/canary", "/etc/passwd", "", None, True, [], {}, [[[[]]]], -1, 0,
    2**63, -(2**70), 1.5, "12", "-0", "1e9", "NaN", {"$": [0, 1, 2, "x"]}, {"$": [-1, 2**80, 0, ""]},
    {"$j": [0]}, {"$$": 1}, {"v": CANARY, "t": "str"}, [CANARY] * 3, {CANARY: CANARY},
)  # fmt: skip
_RAW = (
    b"NaN",
    b"-Infinity",
    b"1e400",
    b"[" * 3000,
    b'{"a":' * 3000,
    b"\xff\xfe",
    b"\0" * 64,
    b"\x1b[2J",
    b'"\\ud800"',
)

Lines = list[bytes]
Change = Callable[[Lines, random.Random], Lines]


def mutate_lines(content: bytes, dice: random.Random) -> bytes:
    """A few changes to whole lines, to values inside them and to single bytes."""
    for _ in range(dice.choice((1, 1, 2, 4, 12))):
        lines = content.splitlines(keepends=True) or [b""]
        content = b"".join(dice.choice(_CHANGES)(lines, dice))
    return content


def _cut(lines: Lines, dice: random.Random) -> Lines:
    content = b"".join(lines)
    return [content[: dice.randrange(len(content) + 1)]]


def _flip(lines: Lines, dice: random.Random) -> Lines:
    content = bytearray(b"".join(lines))
    for _ in range(dice.choice((1, 5, 50)) if content else 0):
        content[dice.randrange(len(content))] = dice.randrange(256)
    return [bytes(content)]


def _twice(lines: Lines, dice: random.Random) -> Lines:
    at = dice.randrange(len(lines))
    return [*lines[: at + dice.randrange(50)], *lines[at:]]


def _shuffle(lines: Lines, dice: random.Random) -> Lines:
    at, count = dice.randrange(len(lines)), dice.randrange(2, 40)
    part = lines[at : at + count]
    dice.shuffle(part)
    return [*lines[:at], *part, *lines[at + count :]]


def _interleave(lines: Lines, dice: random.Random) -> Lines:
    middle = dice.randrange(len(lines) + 1)
    first, second = iter(lines[:middle]), iter(lines[middle:])
    return list(_merged(first, second, dice))


def _merged(first: Iterator[bytes], second: Iterator[bytes], dice: random.Random) -> Iterator[bytes]:
    while True:
        one, other = (first, second) if dice.random() < 0.5 else (second, first)
        line = next(one, None)
        if line is None:
            yield from other
            return
        yield line


def _drop(lines: Lines, dice: random.Random) -> Lines:
    at = dice.randrange(len(lines))
    return [*lines[:at], *lines[at + dice.randrange(1, 5) :]]


def _replace_value(lines: Lines, dice: random.Random) -> Lines:
    """A hostile value anywhere in one record; in a raw log, in one header."""
    for _ in range(8):
        at = dice.randrange(len(lines))
        start = lines[at].find(b"{")
        try:
            value = json.loads(lines[at][start:]) if start >= 0 else None
        except ValueError:
            continue
        if isinstance(value, dict) and value:
            _put(value, dice)
            return [*lines[:at], lines[at][:start] + json.dumps(value).encode() + b"\n", *lines[at + 1 :]]
    return lines


def _put(value: Any, dice: random.Random) -> None:
    while True:
        key = dice.choice(list(value) if isinstance(value, dict) else range(len(value)))
        inner = value[key]
        if isinstance(inner, dict | list) and inner and dice.random() < 0.8:
            value = inner
            continue
        value[key] = dice.choice(_HOSTILE)
        return


def _insert(lines: Lines, dice: random.Random) -> Lines:
    content = b"".join(lines)
    at = dice.randrange(len(content) + 1)
    return [content[:at] + dice.choice(_RAW) + content[at:]]


def _move_time(lines: Lines, dice: random.Random) -> Lines:
    at, other = dice.randrange(len(lines)), dice.choice((b'"t":-', b'"t":99999', b'"t":0'))
    return [*lines[:at], *(line.replace(b'"t":', other) for line in lines[at : at + 20]), *lines[at + 20 :]]


def _swap_ranks(lines: Lines, dice: random.Random) -> Lines:
    swapped = {b'"rank":0': b'"rank":1', b'"rank":1': b'"rank":0', b'"pid":': b'"ppid":'}
    old = dice.choice(list(swapped))
    return [line.replace(old, swapped[old]) for line in lines]


_CHANGES: tuple[Change, ...] = (
    _cut, _flip, _twice, _shuffle, _interleave, _drop, _replace_value, _replace_value, _replace_value,
    _insert, _move_time, _swap_ranks,
)  # fmt: skip


def mutate_folder(root: Path, dice: random.Random) -> None:
    """An unpacked recording, in place."""
    events, packs = sorted(root.rglob("events.jsonl")), sorted(root.rglob("payloads.pack"))
    for path in dice.sample(events, k=dice.randint(0, len(events))):
        path.write_bytes(mutate_lines(path.read_bytes(), dice))
    what = dice.randrange(8)
    if what == 0 and packs:
        dice.choice(packs).unlink()
    elif what == 1 and packs:
        path = dice.choice(packs)
        path.write_bytes(b"".join(_flip([path.read_bytes()], dice)))
    elif what == 2 and packs:
        path = dice.choice(packs)
        path.write_bytes(b"".join(_cut([path.read_bytes()], dice)))
    elif what == 3 and len(packs) > 1:
        one, other = dice.sample(packs, 2)
        content = one.read_bytes()
        shutil.copy(other, one)
        other.write_bytes(content)
    elif what == 4 and (root / "run.json").is_file():
        (root / "run.json").write_bytes(mutate_lines((root / "run.json").read_bytes(), dice))
    elif what == 5:
        (root / "pid1-00000000").symlink_to("/etc")
    elif what == 6 and events:
        path = dice.choice(events)
        path.unlink()
        path.symlink_to("/etc/passwd" if dice.random() < 0.5 else path.name)


def pack_badly(root: Path, target: Path, dice: random.Random) -> None:
    """The folder as a zip file with something in it that has no place there."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(root.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(root))
        what = dice.randrange(5)
        if what == 0:
            for name in ("../canary", "/tmp/canary", "a/../../canary", "pid1-00000000/../../canary"):
                archive.writestr(name, "canary")
        elif what == 1:
            link = zipfile.ZipInfo("pid1-00000000/events.jsonl")
            link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
            archive.writestr(link, "/etc/passwd")
        elif what == 2:
            archive.writestr("pid1-00000000/events.jsonl", b'{"k":"head","v":1}\n' + b"\0" * 40_000_000)
        elif what == 3:
            archive.writestr("pid1-00000000/events.jsonl.zst", b"\x28\xb5\x2f\xfd" + dice.randbytes(200))
    if dice.random() < 0.3:
        target.write_bytes(b"".join(dice.choice((_flip, _cut))([target.read_bytes()], dice)))
