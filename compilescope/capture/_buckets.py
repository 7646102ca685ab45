"""What a bucketed backend does: its compiles as events, its dispatches as cumulative counts.

The backend reports through :mod:`compilescope.observer`; events from before capture began are replayed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from compilescope import observer
from compilescope.capture._session import Session


class Buckets:
    def __init__(self, session: Session) -> None:
        self._session = session
        self.on_warm_up: Callable[[], None] = lambda: None
        self.on_warmed_up: Callable[[str], None] = lambda _: None

    def install(self) -> None:
        observer.register(self._event)

    def remove(self) -> None:
        observer.unregister(self._event)

    def _event(self, event: observer.Event) -> None:
        if self._session.active:
            self._session.safely(self._write, event)

    def _write(self, event: observer.Event) -> None:
        if isinstance(event, observer.WarmUpBegan | observer.WarmUpEnded):
            self._write_warm_up(event)
            return
        fields = {"event": type(event).__name__, **asdict(event)}
        self._session.writer.record("bucket", {"m": fields}, c=self._session.current_compile_id())

    def _write_warm_up(self, event: observer.WarmUpBegan | observer.WarmUpEnded) -> None:
        """The counters are written before a model's own calls begin and before they end: what they grow by in
        between is not the program's.
        """
        ends = isinstance(event, observer.WarmUpEnded)
        self.on_warm_up()
        if ends:
            self.on_warmed_up(event.backend)
        self._session.writer.record("warm_up", {"m": {"backend": event.backend, "ends": ends}})

    def counts(self) -> list[tuple[tuple[Any, ...], int]]:
        """Every dispatch counter: what it counts, and how often that happened so far."""
        return [
            ((c.backend, c.entry, c.rung, c.outcome, c.names, c.sizes), c.count)
            for c in observer.dispatch_snapshot()
        ]
