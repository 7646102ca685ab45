from __future__ import annotations

import gc
import threading
from typing import Any

from compilescope import observer
from compilescope.observer import BackendReset, DispatchCount, Event, WarmUpBegan


class Backend:
    """The least a backend has to be."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.past: list[Event] = []
        self.count = 0

    def events(self) -> list[Event]:
        return self.past

    def dispatch_counts(self) -> list[DispatchCount]:
        return [DispatchCount(self.name, 0, "16", "exact", ("n",), (16,), self.count)]


def mine(events: list[Event], backend: Backend) -> list[Event]:
    return [event for event in events if event.backend == backend.name]


def test_a_late_observer_gets_the_past_first_and_each_event_once() -> None:
    backend = Backend("late")
    backend.past = [BackendReset("late", 1)]
    observer.announce(backend)
    seen: list[Event] = []
    observer.register(seen.append)
    registered_again = seen.append
    observer.register(registered_again)
    try:
        observer.emit(BackendReset("late", 2))
    finally:
        observer.unregister(seen.append)
    observer.emit(BackendReset("late", 3))
    assert mine(seen, backend) == [BackendReset("late", 1), BackendReset("late", 2)]


def test_an_observer_may_wait_for_a_thread_that_reads_the_counters() -> None:
    backend = Backend("read")
    backend.past = [BackendReset("read", 1)]
    observer.announce(backend)
    read: list[list[DispatchCount]] = []

    def waits(event: Event) -> None:
        if event.backend != "read":
            return
        reader = threading.Thread(target=lambda: read.append(observer.dispatch_snapshot()), daemon=True)
        reader.start()
        reader.join(20)
        assert not reader.is_alive()

    observer.register(waits)
    try:
        observer.emit(WarmUpBegan("read"))
        assert len(read) == 2  # of what is past, told when it registered, and of this
        for each in read:
            assert [count for count in each if count.backend == "read"] == backend.dispatch_counts()
    finally:
        observer.unregister(waits)


def test_an_observer_that_raises_stops_neither_the_compile_nor_the_others(caplog: Any) -> None:
    def broken(event: Event) -> None:
        raise RuntimeError("disk full")

    seen: list[Event] = []
    observer.register(broken)
    observer.register(seen.append)
    try:
        observer.emit(BackendReset("x", 1))
    finally:
        observer.unregister(broken)
        observer.unregister(seen.append)
    assert BackendReset("x", 1) in seen
    assert "disk full" in caplog.text


def test_counts_are_read_and_a_backend_is_held_weakly() -> None:
    backend = Backend("counted")
    observer.announce(backend)
    backend.count = 7
    assert [c.count for c in observer.dispatch_snapshot() if c.backend == "counted"] == [7]
    del backend
    gc.collect()
    assert "counted" not in [each.name for each in observer.backends()]


def test_unregistering_a_stranger_is_nothing() -> None:
    observer.unregister(print)
