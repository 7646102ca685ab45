"""The terminal explorer: a report as screens one can walk through, live while the program runs.

Importing this package loads nothing of Textual; ``explore`` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compilescope.views.tui._source import CodeSource, Document, Opened, ReportSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from compilescope.views.tui._app import Explorer

__all__ = ["CodeSource", "Document", "Explorer", "Opened", "ReportSource", "explore"]


def explore(
    source: ReportSource, *, follow: bool = False, interrupt: Callable[[], str] | None = None
) -> None:
    """Takes the terminal until the user quits. ``follow`` keeps up with a recording that grows.

    ``interrupt`` is what ctrl-c does, and says what it did; without it ctrl-c names the key that quits.

    Raises what ``source.load`` raised, unless it follows: then it waits for something that can be read.
    """
    from compilescope.views.tui._app import Explorer

    app = Explorer(source, follow=follow, interrupt=interrupt)
    app.run()
    if app.problem is not None:
        raise app.problem


def __getattr__(name: str) -> object:
    if name == "Explorer":
        from compilescope.views.tui._app import Explorer

        return Explorer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
