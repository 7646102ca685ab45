"""Whole pages as a person sees them; remake with ``pytest --snapshot-update``, then read the diff."""

from __future__ import annotations

import re

import builders
import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from compilescope.views import html, text

PAGES = [builders.history_grows, builders.rich, builders.empty, builders.unknown, builders.hostile]
_ELEMENT = r"<script>|<script type=.application/octet-stream. id=[^>]*>|<style>"
ASSETS = re.compile(rf"({_ELEMENT}).*?(</script>|</style>)|sha256-[\w+/=]+", re.DOTALL)


class _TextFile(SingleFileSnapshotExtension):
    _write_mode = WriteMode.TEXT
    file_extension = "txt"


class _HtmlFile(_TextFile):
    file_extension = "html"


@pytest.mark.parametrize("build", PAGES, ids=lambda build: build.__name__)
def test_text(build, snapshot) -> None:
    assert text.render(build()) == snapshot(extension_class=_TextFile)


@pytest.mark.parametrize("build", PAGES[:4], ids=lambda build: build.__name__)
def test_html(build, snapshot) -> None:
    """Without styles and scripts, which change for other reasons than what the page says."""
    assert ASSETS.sub(r"\1\2", html.render(build())) == snapshot(extension_class=_HtmlFile)
