"""How long the page of a recording of 1,000 compile ids takes to make and to open, and what it weighs.

    python tests/benchmarks/html/bench_page.py [RECORDING ...]

Prints the figures; exit status 1 when one is over its limit. Recordings named beside it are held to the
weight of a typical page. On a machine with more to do than cores, making a page is judged by processor time.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from big_recording import write_big_recording
from playwright.sync_api import Browser, sync_playwright

BUILD_S = 3.0
READY_S = 1.5
TYPICAL_BYTES = 1_600_000
MOST_BYTES = 5_000_000
COMPILES = 1000
_FILTER = """() => new Promise((done) => {
  const start = performance.now();
  const filter = document.getElementById('filter');
  filter.value = 'forward';
  filter.dispatchEvent(new Event('input'));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - start), 0));
})"""


def build(recording: Path, page: Path) -> tuple[float, float]:
    """Wall and processor seconds of the whole command."""
    before, began_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "compilescope", "report", str(recording), "-f", "-o", str(page)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - began_s, spent_s


@contextmanager
def chromium() -> Iterator[Browser]:
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(browser: Browser, page: Path) -> tuple[float, float]:
    """Seconds until its scripts have run and keys are answered; milliseconds of filtering all rows."""
    context = browser.new_context(offline=True, viewport={"width": 1400, "height": 900})
    tab = context.new_page()
    tab.goto(page.as_uri())
    ready_ms = tab.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    tab.wait_for_timeout(1500)
    filter_ms = tab.evaluate(_FILTER)
    context.close()
    return ready_ms / 1e3, filter_ms


def main() -> int:
    failed = False
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        big = Path(folder) / "big.compilescope"
        ids = write_big_recording(big, COMPILES)
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        for recording in [big, *map(Path, sys.argv[1:])]:
            page = Path(folder) / "page.html"
            walls_s, cpus_s = zip(*(build(recording, page) for _ in range(3)), strict=True)
            ready, filtering = zip(*(opened(browser, page) for _ in range(5)), strict=True)
            wall_s, cpu_s, ready_s = (statistics.median(each) for each in (walls_s, cpus_s, ready))
            size = page.stat().st_size
            name = f"{ids} compile ids" if recording == big else recording.name
            made = f"made in {wall_s:.2f} s ({cpu_s:.2f} CPU-s), {size / 1e6:.2f} MB"
            shown = f"interactive after {ready_s:.2f} s ({min(ready):.2f} to {max(ready):.2f})"
            print(f"{name}: {made}, {shown}, filter {statistics.median(filtering):.0f} ms")
            busy = os.getloadavg()[0] > (os.cpu_count() or 1)
            failed |= (cpu_s if busy else wall_s) > BUILD_S or ready_s > READY_S or size > MOST_BYTES
            failed |= recording != big and size > TYPICAL_BYTES
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
