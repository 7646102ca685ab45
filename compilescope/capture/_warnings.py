"""Warnings torch logs about compiling, kept as text: some facts exist nowhere else."""

from __future__ import annotations

import logging
from typing import Any

from compilescope.capture._clipped import clipped
from compilescope.capture._session import Session

LOGGERS = (
    "torch._dynamo",
    "torch._inductor.cudagraph_utils.__cudagraphs",
    "torch._inductor.cudagraph_trees.__cudagraphs",
)
MAX_TEXT = 4000
MAX_RECORDS = 1000


class WarningHandler(logging.Handler):
    """Does not change a logger's level or whether it propagates: the user's console stays as it is."""

    def __init__(self, session: Session) -> None:
        super().__init__(logging.WARNING)
        self._session = session
        self._written = 0

    def emit(self, record: logging.LogRecord) -> None:
        if self._session.active:
            self._session.safely(self._write, record)

    def _write(self, record: logging.LogRecord) -> None:
        self._written += 1
        if self._written > MAX_RECORDS:
            self._session.writer.lost("more warnings than are kept")
            return
        message: dict[str, Any] = {
            "logger": record.name,
            "level": record.levelname,
            "text": clipped(record.getMessage(), MAX_TEXT),
        }
        self._session.writer.record("log", {"m": message}, c=self._session.current_compile_id())


def install(handler: WarningHandler) -> None:
    for name in LOGGERS:
        logging.getLogger(name).addHandler(handler)


def uninstall(handler: WarningHandler) -> None:
    for name in LOGGERS:
        logging.getLogger(name).removeHandler(handler)
