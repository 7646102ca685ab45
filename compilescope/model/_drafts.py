"""What is known of a compile or a graph while its records are still being read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from compilescope.model.values import Compile, CompileId, Graph, Location, Placeholder


@dataclass(slots=True)
class CompileDraft:
    id: CompileId
    code: Location | None = None
    started: bool = False
    stack: tuple[Location, ...] = ()
    call: tuple[Location, ...] = ()
    thread: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    wall_s: float | None = None
    backward_s: float = 0.0
    ops: int | None = None
    guard_count: int | None = None
    guard_latency_us: float | None = None
    has_code: bool | None = None
    fail_type: str | None = None
    fail_reason: str | None = None
    fail_location: Location | None = None
    error_text: str | None = None
    cache_size: int | None = None
    reasons: tuple[str, ...] = ()
    phases_s: dict[str, float] = field(default_factory=dict)

    def frozen(self) -> Compile:
        return Compile(**{name: getattr(self, name) for name in self.__slots__})


@dataclass(slots=True)
class GraphDraft:
    serial: int | None
    compile: CompileId
    made_ns: int | None = None
    backend: str | None = None
    ops: int | None = None
    ends_at: Location | None = None
    ends_at_break: bool = False
    placeholders: tuple[Placeholder, ...] = ()
    size_names: tuple[str, ...] = ()
    calls: int | None = None
    inherited: bool = False
    symbols: dict[str, Any] = field(default_factory=dict)
    uncounted: str | None = None
    sizes: tuple[tuple[tuple[int, ...] | None, int], ...] | None = None

    def frozen(self) -> Graph:
        return Graph(**{name: getattr(self, name) for name in self.__slots__ if name != "made_ns"})

    def counted(self, calls: int, sizes: Any) -> None:
        """Take a counter row. ``sizes`` maps "16,4" to a count; "other" is what lay beyond the cap."""
        self.calls = calls
        if isinstance(sizes, dict):
            rows = [(_size_key(key), n) for key, n in sizes.items() if isinstance(n, int)]
            self.sizes = tuple(sorted(rows, key=lambda row: (-row[1], row[0] or ())))
        elif not self.size_names:
            self.sizes = ()


def _size_key(key: str) -> tuple[int, ...] | None:
    try:
        return tuple(int(part) for part in key.split(","))
    except ValueError:
        return None
