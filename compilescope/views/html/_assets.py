"""Templates, styles and scripts: shipped beside the package in a wheel, in ``reports/`` in a checkout."""

from __future__ import annotations

import base64
import hashlib
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Script:
    """An inline script and the Content-Security-Policy source that allows exactly its bytes."""

    text: str
    csp_source: str


def folder() -> Path:
    """Where templates/, static/ and vendor/ are."""
    shipped = _PACKAGE / "_reports"
    return shipped if shipped.is_dir() else _PACKAGE.parent / "reports"


@cache
def style() -> str:
    return (folder() / "static" / "report.css").read_text(encoding="utf-8")


@cache
def script(name: str) -> Script:
    """``name`` is relative to the asset folder; the page takes it byte by byte, else the hash is wrong."""
    content = (folder() / name).read_bytes()
    digest = base64.b64encode(hashlib.sha256(content).digest()).decode("ascii")
    return Script(content.decode("utf-8"), f"'sha256-{digest}'")


@cache
def deflated(name: str) -> str:
    """An asset as base64 of raw deflate: the page unpacks it, and its policy has the hash of the bytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress((folder() / name).read_bytes()) + packer.flush()
    return base64.b64encode(packed).decode("ascii")
