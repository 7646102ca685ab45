"""The memory plan of generated code: what is allocated, reused and freed, and how much is alive at once.

Simulated from the code of one call, in bytes: a buffer counts ``Tensor.size_bytes`` from the statement that
allocates it (``empty_strided_*``, or a library's result) until the last name for it is deleted. ``buf2 =
buf1; del buf1  # reuse`` and views hand the same storage on. **Peak = the largest sum of storages alive at
any launch.** Not in it: the graph's inputs (the caller owns them, also where one is reused in place),
workspaces inside libraries, the caching allocator's rounding and fragmentation. Functions of partitions are
simulated where they are called. With symbols the peak is found at ``hints`` (else 1024 for each symbol) and
given as the expression at that point.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from compilescope.model.inductor._environment import base_name
from compilescope.model.inductor.launches import Step, Walk
from compilescope.model.inductor.sizes import Size, size
from compilescope.model.inductor.values import Buffer, Launch, MemoryPlan, SourceLine

_ALLOCATE = re.compile(r"^(\w+) = empty_strided_\w+\(")
_POOL = re.compile(r"^(\w+) = alloc_from_pool\(")
_DELETE = re.compile(r"\bdel (\w+)")
_NAMED = re.compile(r"^(\w+) = (\w+)(?:\[\d+\])*(?:;|$|\s)")
_VIEWED = re.compile(r"^(\w+) = ((?:torch\.ops\.inductor\.)?_?reinterpret_tensor\(.*)")
_NAME = re.compile(r"\bbuf\d+\b")


def memory_plan(walk: Walk, hints: Mapping[str, int]) -> MemoryPlan:
    simulation = _Simulation(walk, hints)
    for step in walk.steps:
        simulation.step(step)
    return simulation.plan()


class _Simulation:
    def __init__(self, walk: Walk, hints: Mapping[str, int]) -> None:
        self._walk = walk
        self._hints = hints
        self._storage: dict[str, int] = {}  # name -> storage
        self._maker: dict[str, str] = {}  # name -> the function whose frame holds it
        self._names: dict[int, set[str]] = {}
        self._first: dict[int, str] = {}
        self._sizes: dict[int, Size | None] = {}
        self._filled: dict[str, Launch] = {}
        self._live, self._live_order = size(0), 0
        self._peak, self._peak_order = size(0), -1
        self._peak_after: str | None = None
        self._peak_set: tuple[int, ...] = ()
        self._last: str | None = None
        self._function = "call"
        self._allocated, self._reused = size(0), size(0)
        self._allocations = self._reuses = self._frees = 0

    def step(self, step: Step) -> None:
        text = step.statement.text
        self._function = step.function
        if text.startswith("return"):
            self._leave(step.function, text)
            return
        if found := _ALLOCATE.match(text) or _POOL.match(text):
            self._allocate(found.group(1))
        elif found := _NAMED.match(text):
            self._hand_on(found.group(1), found.group(2), reuse="# reuse" in text)
        elif found := _VIEWED.match(text):
            self._hand_on(found.group(1), base_name(found.group(2)), reuse="# reuse" in text)
        if step.launch is not None:
            self._launch(step.launch)
        for name in _DELETE.findall(text):
            self._drop(name)

    def _launch(self, launch: Launch) -> None:
        self._last = launch.kernel
        for operand in launch.operands:
            if operand.role == "in":
                continue
            if operand.name not in self._storage and operand.name.startswith("buf"):
                self._allocate(operand.name)
            self._filled.setdefault(operand.name, launch)
        self._note_peak()

    def _allocate(self, name: str) -> None:
        tensor = self._walk.tensors(name)
        found = tensor.size_bytes if tensor else None
        storage = len(self._sizes)
        self._sizes[storage], self._first[storage] = found, name
        self._storage[name], self._names[storage] = storage, {name}
        self._maker[name] = self._function
        self._allocations += 1
        if found is not None:
            self._allocated = self._allocated + found
            self._live = self._live + found
            self._live_order += found.order(self._hints)

    def _hand_on(self, name: str, source: str, *, reuse: bool) -> None:
        storage = self._storage.get(source)
        if reuse:
            self._reuses += 1
            tensor = self._walk.tensors(name)
            found = tensor.size_bytes if tensor else None
            self._reused = self._reused + (found if found is not None else 0)
        if storage is not None:
            self._storage[name] = storage
            self._maker[name] = self._function
            self._names[storage].add(name)

    def _drop(self, name: str) -> None:
        storage = self._storage.pop(name, None)
        if storage is None:
            return
        self._names[storage].discard(name)
        if not self._names[storage]:
            del self._names[storage]
            self._frees += 1
            found = self._sizes[storage]
            if found is not None:
                self._live = self._live - found
                self._live_order -= found.order(self._hints)

    def _leave(self, function: str, returned: str) -> None:
        """What a function does not return is freed with its frame; the rest belongs to its caller."""
        if function == "call":
            self._note_peak()
        held = {self._storage[name] for name in _NAME.findall(returned) if name in self._storage}
        for name, maker in list(self._maker.items()):
            if maker == function:
                self._maker[name] = "call"
                if self._storage.get(name) not in held:
                    self._drop(name)

    def _note_peak(self) -> None:
        if self._live_order > self._peak_order:
            self._peak, self._peak_order, self._peak_after = self._live, self._live_order, self._last
            self._peak_set = tuple(self._names)

    def plan(self) -> MemoryPlan:
        live = sorted(self._peak_set, key=lambda s: -self._order(s))
        return MemoryPlan(
            allocations=self._allocations,
            reuses=self._reuses,
            frees=self._frees,
            allocated_bytes=self._allocated,
            reused_bytes=self._reused,
            peak_bytes=self._peak,
            end_bytes=self._live,
            peak_after=self._peak_after,
            live_at_peak=tuple(self._buffer(storage) for storage in live),
            unsized=tuple(self._first[s] for s, found in self._sizes.items() if found is None),
            hints=dict(self._hints),
        )

    def _order(self, storage: int) -> int:
        found = self._sizes[storage]
        return found.order(self._hints) if found is not None else 0

    def _buffer(self, storage: int) -> Buffer:
        name = self._first[storage]
        launch = self._filled.get(name)
        lines: tuple[SourceLine, ...] = launch.lines if launch else ()
        written_by = launch.kernel if launch else None
        return Buffer(name, self._walk.tensors(name), self._sizes[storage], written_by, lines)
