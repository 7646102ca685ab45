"""The full report inside a notebook: a document of its own in a frame, so that neither styles the other."""

from __future__ import annotations

from html import escape


class Frame:
    """Shows ``page`` below the cell, ``height_px`` tall. What is in it cannot reach the notebook."""

    def __init__(self, page: str, height_px: int) -> None:
        self._page = page
        self._height_px = height_px

    def _repr_html_(self) -> str:
        document = escape(self._page.encode("utf-8", "backslashreplace").decode("utf-8"))
        # A policy of the frame's own; without an origin, storage and the notebook are out of its reach.
        return (
            f'<iframe title="CompileScope report" sandbox="allow-scripts" width="100%" '
            f'height="{self._height_px}" style="border:1px solid #8888; border-radius:6px" '
            f'srcdoc="{document}"></iframe>'
        )

    def __repr__(self) -> str:
        return "the report of CompileScope, in a frame"
