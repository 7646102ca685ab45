"""The explorer driven without a terminal: reports in, keys pressed, the screen read as text."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from compilescope.analysis.report import Report
from compilescope.compare import Diff
from compilescope.errors import OutputError
from compilescope.views.tui import Document, Explorer, Opened

CONTEXT_DELAY_S = 0.01  # the source around a line is read that long after the cursor stops
SOURCE = "\n".join(f"y{n} = torch.relu(y{n - 1})  # line {n}" for n in range(1, 61))
GRAPH = "class GraphModule(torch.nn.Module):\n    def forward(self, L_x_):\n        return L_x_ + 1\n"


class FakeCode:
    """Texts in memory; ``read`` lists which were asked for."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.read: list[str] = []

    def source(self, file: str, process: str | None) -> str | None:
        self.read.append(f"source {file}")
        return SOURCE

    def documents(self, compile_id: str, process: str | None) -> Sequence[Document]:
        def graph() -> str:
            self.read.append(f"graph {compile_id}")
            return GRAPH

        return [
            Document("Dynamo graph", "python", graph),
            Document("Inductor's code", "python", lambda: None),
        ]

    def locate(self, file: str, process: str | None) -> Path | None:
        return None if self.folder is None else self.folder / file


class FakeSource:
    """Gives ``report``, which a test may replace while the explorer is open; an exception is raised."""

    name = "train.compilescope"

    def __init__(self, report: Report | Exception, code: FakeCode | None = None) -> None:
        self.report = report
        self.code = code or FakeCode()
        self.loads = 0
        self.exported: Path | None = None
        self.base: str | None = None
        self.glanced = ""
        self.soon: Report | None = None
        self.diff: Callable[[], tuple[Diff | None, str]] | None = None
        self.printed: str | None = None
        self._lock = threading.Lock()

    def replace(self, report: Report | Exception) -> None:
        with self._lock:
            self.report = report

    def stamp(self) -> object:
        with self._lock:
            return id(self.report), self.base

    def load(self) -> Opened:
        with self._lock:
            self.loads += 1
            if isinstance(self.report, Exception):
                raise self.report
            if self.diff is not None and self.base is not None:
                return Opened(self.report, self.code, *self.diff())
            return Opened(self.report, self.code)

    def glance(self) -> str:
        return self.glanced

    def quick(self) -> Opened | None:
        return None if self.soon is None else Opened(self.soon, self.code)

    def compare_with(self, base: str) -> None:
        self.base = base

    def output(self) -> Callable[[], str | None] | None:
        return None if self.printed is None else lambda: self.printed

    def export(self, report: Report) -> Path:
        if self.exported is not None:
            raise OutputError(f"{self.exported} exists")
        self.exported = Path("report.html")
        return self.exported


class Driver:
    """What a person does and sees."""

    def __init__(self, app: Explorer, pilot: Any) -> None:
        self.app = app
        self.pilot = pilot

    async def press(self, *keys: str) -> str:
        await self.pilot.press(*keys)
        return await self.settled()

    async def settled(self) -> str:
        await self.app.workers.wait_for_complete()
        await self.pilot.pause(2 * CONTEXT_DELAY_S)
        await self.app.workers.wait_for_complete()
        await self.pilot.pause()
        return self.text

    async def until(self, condition: Callable[[], bool]) -> str:
        for _ in range(200):
            if condition():
                return await self.settled()
            await self.pilot.pause(0.05)
        raise AssertionError(f"did not come to pass; the screen is\n{self.text}")

    @property
    def lines(self) -> list[str]:
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip) for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def page(self) -> str:
        assert self.app.page is not None
        return self.app.page.page.name

    @property
    def row(self) -> str:
        """The line of the cursor."""
        return next(line for line in self.lines if line.startswith(">"))


def drive(
    source: FakeSource | Report,
    steps: Callable[[Driver], Awaitable[None]],
    *,
    size: tuple[int, int] = (120, 40),
    follow: bool = False,
    interrupt: Callable[[], str] | None = None,
    clock: Callable[[], float] = lambda: 0.0,
) -> Explorer:
    """Opens the explorer, runs ``steps`` once the report (or the reason why there is none) is shown."""
    reads = source if isinstance(source, FakeSource) else FakeSource(source)
    app = Explorer(reads, follow=follow, interrupt=interrupt, clock=clock)

    waiting = app.waiting

    async def run() -> None:
        async with app.run_test(size=size, notifications=True) as pilot:
            driver = Driver(app, pilot)
            await driver.until(lambda: app.report is not None or app.waiting != waiting or not app.is_running)
            await steps(driver)

    asyncio.run(run())
    return app
