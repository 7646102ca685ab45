"""Short ways to make model values: a process with compiles, graphs and breaks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from compilescope.analysis.index import Index
from compilescope.analysis.paths import Paths
from compilescope.model import BreakEvent, Compile, CompileId, Conversion, Graph, Location, Process, Run

FILE = "/home/user/train.py"
CALL = (Location(FILE, 90, "main"),)

_EMPTY = Process(
    id="pid1-ab",
    kind="recording",
    pid=1,
    ppid=None,
    rank=None,
    world_size=None,
    device="CPU",
    versions={"torch": "2.13.0", "python": "3.11.7"},
    argv=("python", "train.py"),
    cwd="/home/user",
    env=(),
    config={},
    hooks={},
    late=False,
    complete=True,
    ended="atexit",
    start_ns=10**18,
    last_ns=10**18 + 10**10,
    counts_ns=10**18,
    compiles={},
    backward_spans=(),
    module_sources={},
    graphs=(),
    breaks=(),
    guard_failures=(),
    limits=(),
    conversions=(),
    caches=(),
    specialized=(),
    autograd_graphs=(),
    eager_calls={},
    stances=(),
    compile_calls=1,
    targets=(),
    logs=(),
    lost={},
    sources={},
    unknown={},
    holes=(),
)


def place(function: str, line: int, file: str = FILE) -> Location:
    return Location(file, line, function)


def compiled(frame: int, code: Location, recompile: int = 0, **more: Any) -> Compile:
    """A compile that took half a second and produced code."""
    facts: dict[str, Any] = {
        "id": CompileId(0, frame, recompile),
        "code": code,
        "started": True,
        "stack": (code,),
        "call": CALL,
        "thread": "MainThread",
        "start_ns": 10**18 + frame * 10**9,
        "end_ns": 10**18 + frame * 10**9 + 5 * 10**8,
        "wall_s": 0.5,
        "backward_s": 0.0,
        "ops": 1,
        "guard_count": 9,
        "has_code": True,
        "fail_type": None,
        "fail_reason": None,
        "fail_location": None,
        "error_text": None,
        "cache_size": recompile,
        "reasons": (),
        "phases_s": {},
    }
    return Compile(**{**facts, **more})


def refused(frame: int, code: Location, recompile: int, **more: Any) -> Compile:
    reason = "Dynamo recompile limit exceeded\n  limit (currently set to 8)"
    facts = {"started": False, "has_code": False, "fail_type": "Unsupported", "fail_reason": reason}
    return compiled(frame, code, recompile, **{**facts, **more})


def graph(frame: int, recompile: int = 0, calls: int | None = 1) -> Graph:
    return Graph(0, CompileId(0, frame, recompile), "inductor", 2, None, False, (), (), calls, ())


def graph_break(
    frame: int, stack: list[tuple[str, int, str]], *, reason: str = "Data-dependent branching"
) -> BreakEvent:
    """An event of compile ``frame/0``. ``stack`` is outermost first and ends at the broken line."""
    file, line, _ = stack[-1]
    frames = "".join(f'  File "{f}", line {n}, in {name}\n    code\n' for f, n, name in stack)
    head = f"Graph break in user code at {file}:{line}\nGraph Break Reason: {reason}\n\n"
    text = f"{head}User code traceback:\n{frames}"
    return BreakEvent(CompileId(0, frame, 0), text, None, 1)


def conversion(compile_: Compile, serial: int, outcome: str = "compiled") -> Conversion:
    assert compile_.code is not None
    return Conversion(compile_.code, serial, outcome, None, None, 0.5, CALL, compile_.id)


def process(*compiles: Compile, **more: Any) -> Process:
    return replace(_EMPTY, compiles={c.id: c for c in compiles}, **more)


def index(of: Process) -> Index:
    return Index(of, Paths("/home/user"))


def run(*processes: Process, **launch: Any) -> Run:
    return Run("rec.compilescope", 1000, launch, processes)
