"""Makes a big, valid TORCH_TRACE log by repeating a real one with other frame ids. Deterministic.

    python tests/benchmarks/recording/big_log.py OUT.log [--mb 258]

Every copy keeps each payload byte for byte, so that its hash stays right, and is a set of compiles of its
own, as in a long job. The string table is written once.
"""

from __future__ import annotations

import argparse
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import zstandard

_SOURCE = Path(__file__).parents[2] / "unit/recording/logs/cpu-torch213-train.log.zst"
_RECORD = re.compile(rb"(?m)^(?=V\d{4} )")


def records() -> Iterator[tuple[bytes, dict[str, object], bytes]]:
    """``(text before the envelope, envelope, payload lines)`` of the real log."""
    content = io.BytesIO()
    zstandard.ZstdDecompressor().copy_stream(io.BytesIO(_SOURCE.read_bytes()), content)
    for record in _RECORD.split(content.getvalue())[1:]:
        header, _, body = record.partition(b"\n")
        brace = header.index(b"{")
        yield header[:brace], json.loads(header[brace:]), body


def write_big_log(path: Path, size_bytes: int) -> int:
    """Writes at least ``size_bytes``; returns how many compiles it holds."""
    parsed = list(records())
    stride = 1 + max(frame for _, envelope, _ in parsed if isinstance(frame := envelope.get("frame_id"), int))
    written = copies = compiles = 0
    with path.open("wb") as out:
        while written < size_bytes:
            for prefix, envelope, body in parsed:
                if "str" in envelope and copies:
                    continue
                frame = envelope.get("frame_id")
                if isinstance(frame, int):
                    envelope = envelope | {"frame_id": frame + copies * stride}
                compiles += "dynamo_start" in envelope
                written += out.write(prefix + json.dumps(envelope).encode() + b"\n" + body)
            copies += 1
    return compiles


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--mb", type=float, default=258)
    arguments = parser.parse_args()
    compiles = write_big_log(arguments.out, int(arguments.mb * 1e6))
    print(f"{arguments.out}: {arguments.out.stat().st_size} bytes, {compiles} compiles")


if __name__ == "__main__":
    main()
