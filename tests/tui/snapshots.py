"""SVG snapshots of the explorer under their own suffix, equal on every machine."""

from __future__ import annotations

import re

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.types import (
    PropertyFilter,
    PropertyMatcher,
    SerializableData,
    SerializedData,
)

_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_ID = re.compile(r"terminal-(\d+)")


class SvgSnapshot(SingleFileSnapshotExtension):
    """One .svg a test; ``update`` with ``pytest --snapshot-update``."""

    file_extension = "svg"
    _write_mode = WriteMode.TEXT

    def serialize(
        self,
        data: SerializableData,
        *,
        exclude: PropertyFilter | None = None,
        include: PropertyFilter | None = None,
        matcher: PropertyMatcher | None = None,
    ) -> SerializedData:
        return normalized(str(data))


def normalized(svg: str) -> str:
    """Without fonts from the network, and without the number by which Rich tells pictures on a page apart."""
    return _ID.sub("terminal", _FONTS.sub("", svg)).rstrip() + "\n"
