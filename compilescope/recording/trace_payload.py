"""Rebuilds a payload from its tab-led lines. The hash torch wrote beside it decides which way is right."""

from __future__ import annotations

import hashlib


def rebuild(body: bytes, md5: str) -> tuple[bytes, bool]:
    """The payload, and whether it has the hash it should. ``body`` is without its last newline."""
    # Exact unless the payload has tabs of its own, and the fastest: the hash tells.
    content = body.translate(None, b"\t")
    if _md5(content) == md5:
        return content, True
    content = body.replace(b"\n\t", b"\n")[1:]
    if _md5(content) == md5:
        return content, True
    plain = content
    if b"\n\n" in body:
        # A collector stuttered: a blank line of the payload would have its tab.
        content = b"\n".join(line[1:] for line in body.split(b"\n") if line[:1] == b"\t")
        if _md5(content) == md5:
            return content, True
    if body.endswith(b"\r"):
        lines = (line.removesuffix(b"\r") for line in body.split(b"\n"))
        content = b"\n".join(line[1:] for line in lines if line[:1] == b"\t")
        if _md5(content) == md5:
            return content, True
    return plain, False


def _md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()
