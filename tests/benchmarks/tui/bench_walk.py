"""How quickly the explorer opens a report of 10,000 compile ids, and how quickly it answers keys.

python tests/benchmarks/tui/bench_walk.py [RECORDING]

prints the figures; exit status 1 when one is over its limit. With RECORDING (a gigabyte can be made by
``recording/bench_reading.py --rich``) that is opened instead of a report made up here: first paint is then
what is known at once, and the walk begins when all was read.

On a machine with more to do than cores the keys are judged by the time that the explorer itself ran.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import statistics
import struct
import sys
import termios
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from compilescope.analysis import report as r

sys.path.insert(0, str(Path(__file__).parents[2]))
import builders

FIRST_PAINT_S = 1.5
KEY_P95_S = 0.1
COMPILE_IDS = 10_000
RECORDING = [word for word in sys.argv[1:] if not word.startswith("--")]
QUIET_S = 0.06  # after this long without output a key counts as answered
KEYS = {
    "enter": b"\r", "escape": b"\x1b", "backspace": b"\x7f", "tab": b"\t", "pagedown": b"\x1b[6~",
    "slash": b"/", "question_mark": b"?", "right_square_bracket": b"]", "left_square_bracket": b"[",
}  # fmt: skip
WALK = """
    j j j pagedown G g 2 j j enter j backspace s s S slash f r a m e enter n N escape 3 j G s g enter tab
    j j pagedown backspace f l e n enter escape escape 4 j j pagedown s s s g 5 l j l j h h G g s s slash
    9 9 enter n n pagedown pagedown pagedown j j j k k enter enter 6 j j s s s pagedown G g slash 5 / 7
    enter n N escape enter tab j j pagedown G g slash r e l u enter n n N backspace 8 j j s enter
    backspace 9 j j enter backspace question_mark j j escape y 1 2 3 4 5 6 7 8 9 right_square_bracket
    right_square_bracket left_square_bracket u u u 5 G l j l j j j h h h 6 G enter j j backspace 4 f 1 7
    enter escape escape s s S G g 3 G g 2 G g 1 j j j k k k
"""
SOURCE = "\n".join(f"    x{n} = torch.relu(x{n - 1}) + {n}.0  # a line of code" for n in range(5_000))


class Code:
    def source(self, _file: str, _process: str | None) -> None:
        """None: source comes 100 ms after the cursor stops, and would be taken for the answer to the key."""

    def documents(self, _compile_id: str, _process: str | None) -> list[object]:
        from compilescope.views.tui import Document

        return [Document("Dynamo graph", "python", lambda: SOURCE)] * 8

    def locate(self, _file: str, _process: str | None) -> None:
        return None


class Source:
    name = "big.compilescope"

    def __init__(self, report: r.Report) -> None:
        self._report = report

    def stamp(self) -> int:
        return 1

    def glance(self) -> str:
        return ""

    def quick(self) -> None:
        """Nothing before the whole."""

    def output(self) -> None:
        """Nothing was kept."""

    def compare_with(self, _base: str) -> None:
        """Nothing to compare with."""

    def load(self) -> object:
        from compilescope.views.tui import Opened

        return Opened(self._report, Code())


def big_report(compile_ids: int = COMPILE_IDS) -> r.Report:
    """2,500 frames of four compiles each, a graph a compile, and causes and breaks to match."""
    base = builders.rich()
    frames = [
        replace(base.frames[0], function=f"frame_{n}", line=n, compile_ids=[f"{n}/{k}" for k in range(4)])
        for n in range(compile_ids // 4)
    ]
    graphs = [
        replace(base.graphs[-1], compile_id=f"{n // 4}/{n % 4}", function=f"frame_{n // 4}", calls=n)
        for n in range(compile_ids)
    ]
    recompiles = [
        replace(base.recompiles[n % 4], line=n, source=f"len(history_{n})", compile_ids=[f"{n}/1", f"{n}/2"])
        for n in range(compile_ids // 4)
    ]
    breaks = [replace(base.graph_breaks[n % 2], line=n, runtime_hits=n) for n in range(compile_ids // 10)]
    worst = [
        replace(base.worst[n % 5], line=n, title=f"frame_{n}() recompiles") for n in range(compile_ids // 20)
    ]
    skips = [replace(base.skips[0], line=n) for n in range(compile_ids // 10)]
    return replace(
        base,
        totals=replace(base.totals, compiles=compile_ids, graphs=compile_ids, frames=len(frames)),
        frames=frames, graphs=graphs, recompiles=recompiles, graph_breaks=breaks, worst=worst, skips=skips,
    )  # fmt: skip


def show() -> None:
    """The child: the explorer on the terminal it was given. What making the report up cost is told first."""
    from compilescope.views.tui import explore

    began_s = time.monotonic()
    source = Source(big_report())
    print(f"BUILT {time.monotonic() - began_s:.4f}", flush=True)
    explore(source)  # type: ignore[arg-type]


class Answer(NamedTuple):
    seen_s: float  # as a person saw it
    own_s: float  # without waiting for a core
    ran_s: float


class Terminal:
    """A real pseudo-terminal of 120x40 with the explorer in it."""

    def __init__(self) -> None:
        self.began_s = time.monotonic()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm-256color", COLORTERM="truecolor")
            words = ["-m", "compilescope", "tui", *RECORDING] if RECORDING else [__file__, "--show"]
            os.execv(sys.executable, [sys.executable, *words])
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))

    def read_until(self, wanted: bytes) -> bytes:
        """All output up to ``wanted``, which must come within 120 s."""
        output = b""
        while wanted not in output:
            if not select.select([self.fd], [], [], 120)[0]:
                raise TimeoutError(f"{wanted!r} did not come; the end of what came: {output[-500:]!r}")
            output += os.read(self.fd, 1 << 16)
        return output

    def until_idle(self) -> None:
        """Until all is read: the explorer has not run for some seconds, on a busy machine too."""
        ran_s, before_s = self._scheduled_s()[0], -1.0
        while ran_s - before_s > 0.05:
            self._drain(4.0)
            ran_s, before_s = self._scheduled_s()[0], ran_s

    def _drain(self, seconds: float) -> None:
        until_s = time.monotonic() + seconds
        while (left_s := until_s - time.monotonic()) > 0:
            if select.select([self.fd], [], [], left_s)[0]:
                os.read(self.fd, 1 << 16)

    def press(self, keys: bytes) -> Answer | None:
        """What it took until the last output of the answer; None if there is none."""
        sent_s, (ran_s, waited_s) = time.monotonic(), self._scheduled_s()
        os.write(self.fd, keys)
        answer, quiet_s = None, 0.4
        while select.select([self.fd], [], [], quiet_s)[0]:
            os.read(self.fd, 1 << 16)
            spent_s, quiet_s = time.monotonic() - sent_s, QUIET_S
            now_ran_s, now_waited_s = self._scheduled_s()
            answer = Answer(spent_s, max(spent_s - (now_waited_s - waited_s), 0.0), now_ran_s - ran_s)
        return answer

    def _scheduled_s(self) -> tuple[float, float]:
        """How long the explorer's threads ran, and how long they were ready to and did not (Linux).

        Summed: a key passes the reading, the drawing and the writing thread one after the other.
        """
        stats = [path.read_text().split() for path in Path(f"/proc/{self.pid}/task").glob("*/schedstat")]
        return sum(int(ran) for ran, _, _ in stats) / 1e9, sum(int(waited) for _, waited, _ in stats) / 1e9

    def close(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def first_paint_s() -> float:
    terminal = Terminal()
    if RECORDING:
        terminal.read_until(b"So far it is known")
        painted_s, ran_s = time.monotonic() - terminal.began_s, terminal._scheduled_s()[0]
        terminal.read_until(b"Compiling took")
        facts_s, facts_ran_s = time.monotonic() - terminal.began_s, terminal._scheduled_s()[0]
        terminal.until_idle()
        print(
            f"first paint: {painted_s:.2f} s ({ran_s:.2f} running); facts: {facts_s:.1f} s "
            f"({facts_ran_s:.1f} running); all read: {terminal._scheduled_s()[0]:.1f} running"
        )
        terminal.close()
        return ran_s if _is_crowded() else painted_s
    output = terminal.read_until(b"Compiling took")
    painted_s = time.monotonic() - terminal.began_s
    terminal.close()
    built = re.search(rb"BUILT ([0-9.]+)", output)
    assert built
    return painted_s - float(built[1])


def _is_crowded() -> bool:
    """More to do than cores: what a person waits for says nothing of us then, what we run does."""
    return os.getloadavg()[0] > (os.cpu_count() or 1)


def walk() -> list[tuple[Answer, str]]:
    """Every key that was answered, the slowest first."""
    terminal = Terminal()
    terminal.read_until(b"Compiling took")
    terminal.until_idle()
    taken = []
    for number, key in enumerate(WALK.split()):
        answer = terminal.press(KEYS.get(key, key.encode()))
        if answer is not None:
            taken.append((answer, f"{number}:{key}"))
    terminal.close()
    return sorted(taken, key=lambda one: -one[0].ran_s)


def main() -> int:
    paint_s = statistics.median(first_paint_s() for _ in range(1 if RECORDING else 3))
    everything = walk()
    # Textual holds an escape back for 100 ms, to see whether a sequence follows.
    taken = [one for one in everything if not one[1].endswith(":escape")]
    escapes_s = [answer.seen_s for answer, key in everything if key.endswith(":escape")]
    print(f"{COMPILE_IDS:,} compile ids, 120x40, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    what = "first paint" if RECORDING else "facts on screen"
    print(f"{what} after process start: {paint_s:.2f} s (limit {FIRST_PAINT_S} s)")
    print(f"{len(taken)} keys answered: median, p95 (limit {1e3 * KEY_P95_S:.0f} ms), slowest")
    for name, label in (
        ("seen_s", "as a person saw it"),
        ("own_s", "without waiting for a core"),
        ("ran_s", "running"),
    ):
        times_s = [getattr(answer, name) for answer, _ in taken]
        figures_s = (statistics.median(times_s), statistics.quantiles(times_s, n=20)[-1], max(times_s))
        print(f"  {label:<28}", "  ".join(f"{1e3 * figure_s:4.0f} ms" for figure_s in figures_s))
    print(f"  escape, held back by 100 ms   {1e3 * statistics.median(escapes_s):4.0f} ms")
    print("slowest, running:", ", ".join(f"{key} {1e3 * answer.ran_s:.0f} ms" for answer, key in taken[:12]))
    judged = "ran_s" if _is_crowded() else "seen_s"
    p95_s = statistics.quantiles([getattr(answer, judged) for answer, _ in taken], n=20)[-1]
    return int(paint_s > FIRST_PAINT_S or p95_s > KEY_P95_S)


if __name__ == "__main__":
    if "--show" in sys.argv:
        show()
    else:
        sys.exit(main())
