"""Text laid out for the width it gets: labels keep their column, values wrap beside them."""

from __future__ import annotations

from collections.abc import Callable

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget


class Flow(Widget):
    """``show`` takes what makes the text for a width in cells; its height follows from that."""

    DEFAULT_CSS = "Flow { height: auto; width: 100%; }"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lay_out: Callable[[int], Content] = lambda _width: Content("")
        self._laid: tuple[int, Content] | None = None

    def show(self, lay_out: Callable[[int], Content]) -> None:
        before = self._laid
        self._lay_out, self._laid = lay_out, None
        # A layout costs as much as all drawing: most rows of a table are told in equally many lines.
        same = before is not None and _height(self._text(before[0])) == _height(before[1])
        self.refresh(layout=not same)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        return _height(self._text(width))

    def render(self) -> Content:
        return self._text(self.content_size.width)

    def _text(self, width: int) -> Content:
        if self._laid is None or self._laid[0] != width:
            self._laid = (width, self._lay_out(max(width, 1)))
        return self._laid[1]


def _height(text: Content) -> int:
    return max(len(text.plain.splitlines()), 1)
