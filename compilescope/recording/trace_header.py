"""One header line of a TORCH_TRACE log: when, which process, and the JSON object behind it."""

from __future__ import annotations

import calendar
import json
import re
import time
from typing import Any, Final

import msgspec

HEADER: Final = re.compile(
    # Bounded, and searched for near the start of a line only: a hostile line must not cost its square.
    rb"[VIWEC](\d{4} \d\d:\d\d):(\d\d)\.(\d{6}) {1,9}(\d{1,10}) [^:\n]{0,1000}:\d{1,9}\] "
)
SEARCHED_BYTES: Final = 2000
"""A log collector may put text before the header; at most so much is looked through."""

ID_KEYS: Final = frozenset(
    (
        "rank",
        "compiled_autograd_id",
        "frame_id",
        "frame_compile_id",
        "attempt",
        "subgraph_name",
        "stack",
        "has_payload",
    )
)
"""Keys of the envelope that are not the event."""

_decode = msgspec.json.Decoder().decode
_HALF_A_YEAR_S = 183 * 86400
_QUARTER_S = 900


def decode_envelope(content: bytes | memoryview) -> Any:
    """Raises ValueError, RecursionError. NaN and bad UTF-8 are accepted, as ``\\xff``."""
    try:
        return _decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return json.loads(bytes(content).decode("utf-8", "backslashreplace"))


class Clock:
    """Unix time from stamps that have neither year nor time zone.

    ``year`` is that of the file. The first chromium event of the process carries true unix time: its distance
    from its own stamp, to a quarter of an hour, is what all stamps are off by.
    """

    def __init__(self, year: int) -> None:
        self._year = year
        self._minute = b""
        self._minute_s = 0
        self.shift_s: int | None = None

    def stamp_ns(self, minute: bytes, second: bytes, micro: bytes) -> int:
        """``minute`` is ``MMDD HH:MM``. Nanoseconds, still off by ``shift_s``."""
        if minute != self._minute:
            self._turn_to(minute)
        return ((self._minute_s + int(second)) * 1_000_000 + int(micro)) * 1000

    def calibrate(self, stamp_ns: int, true_us: float) -> None:
        self.shift_s = round((true_us / 1e6 - stamp_ns / 1e9) / _QUARTER_S) * _QUARTER_S

    def shift_or_local_s(self) -> int:
        """What to add to all stamps; without a chromium event, this machine's time zone is as good as any."""
        if self.shift_s is not None:
            return self.shift_s
        return self._minute_s - calendar.timegm(time.localtime(self._minute_s))

    def _turn_to(self, minute: bytes) -> None:
        before_s = self._minute_s
        self._minute_s = self._seconds(minute)
        if self._minute_s < before_s - _HALF_A_YEAR_S:
            # New Year passed.
            self._year += 1
            self._minute_s = self._seconds(minute)
        self._minute = minute

    def _seconds(self, minute: bytes) -> int:
        month, day, hour, minutes = (int(minute[i : i + 2]) for i in (0, 2, 5, 8))
        return calendar.timegm(
            (self._year, min(max(month, 1), 12), min(max(day, 1), 28), hour, minutes, 0)
        ) + (max(0, day - 28) * 86400)
