"""Report objects for tests of the views: rich (modelled on real programs), empty, hostile, huge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from compilescope.analysis import report as r

PROCESS = "pid21398-ab12cd34"
SCRIPT = "24_history_grows.py"


def history_grows() -> r.Report:
    """A list argument grows by one entry per call until the recompile limit refuses the frame."""
    return r.Report(
        format_version=r.FORMAT_VERSION,
        recording=_recording(SCRIPT),
        processes=[_process()],
        totals=r.Totals(1, 8, 8, 0, 0, 7, 1, 0, 0.86, 8, 4, blocked_by_limit=1),
        verdict=r.Verdict(
            [
                "Compiling took 0.86 s of 1.15 s (75 %).",
                "attend() hit the recompile limit and now runs WITHOUT torch.compile.",
                "It did not settle: every call differed.",
            ],
            0.748,
            False,
            1.02,
        ),
        worst=_history_worst(),
        graph_breaks=[],
        recompiles=_history_recompiles(),
        limit_hits=[
            r.LimitHit(
                "attend", SCRIPT, 5, 8, r.GuardChange("len(history)", 7, 8, "container_length"), 4, 12,
                PROCESS, f"{SCRIPT}:19 main",
            )
        ],
        failures=[],
        skips=[],
        frames=[
            r.Frame(
                "attend", SCRIPT, 5, [f"0/{n}" for n in range(8)], 8, 100, 8, 4, 0.86, 0, 7,
                "recompile limit", PROCESS, called_from=f"{SCRIPT}:19 main",
            )
        ],
        graphs=[_history_graph(n) for n in range(8)],
        caches=r.CacheTotals({"bypass": 8}, {}),
        diagnoses=[],
        missing=[],
    )  # fmt: skip


def rich() -> r.Report:
    """Every section filled: breaks hot and cold, failures, skips, caches, missing facts, damage."""
    base = history_grows()
    recording = replace(
        base.recording, exit_status=137, ended="killed by SIGKILL", complete=False, name="train.py",
        path="compilescope-train.21398.compilescope",
        command=["python", "train.py", "--lr", "3e-4"], wall_s=14.2,
        git_revision="3f2c1ab9d0e4417b8a5a", git_dirty=True,
    )  # fmt: skip
    process = replace(
        base.processes[0],
        argv=["train.py", "--lr", "3e-4"],
        ended="killed by SIGKILL",
        missing=[r.Missing("kernels", "Inductor was not used: backend aot_eager")],
        damage=[r.Damage("torn line", "events.jsonl:48213", "the last line is cut after 118 bytes")],
    )
    return replace(
        base,
        recording=recording,
        processes=[process],
        totals=r.Totals(6, 14, 12, 3, 8, 8, 1, 1, 1.9, 431, 4, blocked_by_limit=1, skipped_frames=2),
        verdict=replace(
            base.verdict,
            compile_share=0.134,
            sentences=[
                "Compiling took 1.90 s of 14 s (13 %).",
                "attend() hit the recompile limit and now runs WITHOUT torch.compile.",
                "An if on a tensor leaves the graph 200 times.",
            ],
        ),
        worst=[*base.worst, *_rich_worst()],
        graph_breaks=_breaks(),
        recompiles=[*base.recompiles, *_more_recompiles()],
        failures=[
            r.Failure(
                "Unsupported", "Data-dependent branching\n  Explanation: Detected data-dependent branching",
                "adaptive_step", "27_fullgraph_error.py", 8, False, "dynamo", "4/0", PROCESS,
                "if h.abs().mean() > 0.5:",
            )
        ],
        skips=[
            r.Skip("Tower.forward", "fauxlib/blocks.py", 33, "graph break inside a for loop", PROCESS),
            r.Skip("debug_shape", "fauxlib/util.py", 6, None, PROCESS),
        ],
        frames=[*base.frames, *_more_frames()],
        graphs=[*base.graphs, _dynamic_graph()],
        caches=r.CacheTotals({"hit": 3, "miss": 9, "bypass": 1}, {"miss": 12}),
        diagnoses=[r.Diagnosis("served_from_cache", "3 graphs came out of the FX graph cache.", PROCESS)],
        missing=[r.Missing("autotune timings", "torch 2.13.0 has no hook that CompileScope knows")],
        unknown_records={"future_kind": 12},
    )  # fmt: skip


def empty() -> r.Report:
    """A program that never reached torch.compile."""
    base = history_grows()
    return replace(
        base,
        processes=[replace(base.processes[0])],
        totals=r.Totals(0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0, 0),
        verdict=r.Verdict(["Nothing was compiled."], 0.0, None),
        worst=[], recompiles=[], limit_hits=[], frames=[], graphs=[],
        caches=r.CacheTotals(),
        diagnoses=[
            r.Diagnosis(
                "no_compile_call",
                "No torch.compile call was reached: the program imported torch and ended without calling a "
                "compiled function.",
            )
        ],
    )  # fmt: skip


def unknown() -> r.Report:
    """Every fact that may be unknown is unknown, and said to be."""
    base = empty()
    return replace(
        base,
        recording=r.RecordingInfo("old.compilescope", [], None, None, None, False, None),
        processes=[r.ProcessInfo("pid1-0", None, None, None, None, None, None)],
        totals=replace(base.totals, compile_wall_s=None, compiled_calls=None, eager_calls=None),
        verdict=r.Verdict([], None, None),
        diagnoses=[],
        graph_breaks=[_unknown_break()],
        frames=[r.Frame("f", "a.py", 1, [], 0, None, None, None, None, 1, 0, "compiled", "pid1-0")],
        missing=[r.Missing("run-time hits", "the call counter hook is missing in this torch")],
    )


ATTACKS = (
    "<script>window.pwned=1;document.title='pwned';alert(1)</script>",
    "</script><img src=x onerror=\"window.pwned=1;alert(1)\">",
    "\"><svg onload=window.pwned=1>",
    "javascript:window.pwned=1",
    "{{ 7*7 }}{% raw %}",
    "[bold red]markup[/] ${7*7}",
    "\x1b[31mred\x1b]0;title\x07\x1b[2J",
    "../../../../etc/passwd\x00.py",
    "\u202egnp.exe\u202c \u2066hidden\u2069\u2028\u2029",
    "漢字仮名" * 40,
    "\udcff\ud800 lone surrogates",
    "z\u0300\u0301" * 60,
    "a" * 5000,
    "/very/deep" * 60 + "/model.py",
    "line one\nline two\r\nline\tthree",
    "]]><!--'`\\",
    "",
)  # fmt: skip


def hostile() -> r.Report:
    """The rich report with an attack in place of every string that comes from a recording."""
    turns = iter(range(10**9))

    def attack() -> str:
        return ATTACKS[next(turns) % len(ATTACKS)]

    report: r.Report = _poison(rich(), attack)
    worst = [
        replace(report.worst[0], title=text, file=text, code=text, detail=text, note=text) for text in ATTACKS
    ]
    breaks = [
        replace(
            report.graph_breaks[0], file=text, line=number, reason=text, code=text, call_path=[text, text]
        )
        for number, text in enumerate(ATTACKS)
    ]
    return replace(report, worst=worst, graph_breaks=breaks)


def huge(rows: int = 3000) -> r.Report:
    """More rows than any page can show."""
    base = rich()
    worst = [replace(base.worst[0], title=f"frame_{n}() breaks", line=n) for n in range(rows)]
    return replace(
        base,
        totals=replace(base.totals, graph_break_sites=rows, compiles=rows * 10**6),
        worst=worst,
        graph_breaks=[replace(base.graph_breaks[0], line=n, runtime_hits=rows - n) for n in range(rows)],
        frames=[
            replace(
                base.frames[0], function=f"frame_{n}", line=n, compile_s=1 / (n + 1), compiled_calls=rows - n
            )
            for n in range(rows)
        ],
        missing=[r.Missing(f"fact {n}", "a reason that takes some room on the line") for n in range(rows)],
    )


# Names that the program itself gives, not the recording: identifiers with a fixed vocabulary.
_KEPT = {
    "format_version",
    "kind",
    "holder",
    "value_type",
    "resume",
    "status",
    "slug",
    "started",
    "counts_as_of",
}


def _poison(value: Any, attack: Any, name: str = "") -> Any:
    if name in _KEPT:
        return value
    if isinstance(value, str):
        return attack()
    if isinstance(value, list | tuple):
        return type(value)(_poison(item, attack) for item in value)
    if isinstance(value, dict):
        return {f"{attack()}{n}": _poison(item, attack) for n, item in enumerate(value.values())}
    if hasattr(value, "__dataclass_fields__"):
        fields = {key: _poison(getattr(value, key), attack, key) for key in value.__dataclass_fields__}
        return type(value)(**fields)
    return value


def _recording(name: str) -> r.RecordingInfo:
    return r.RecordingInfo(
        path=f"compilescope-{name.removesuffix('.py')}.21398.compilescope",
        command=["python", name],
        exit_status=0,
        started="2026-11-29T10:00:00Z",
        wall_s=1.15,
        complete=True,
        counts_as_of="2026-11-29T10:00:01Z",
        ended="exited 0",
        size_bytes=38_000,
        name=name,
        git_revision=None,
        git_dirty=None,
        versions={"compilescope": "0.1.0", "python": "3.11.2", "torch": "2.13.0+cpu", "triton": "none"},
    )


def _process() -> r.ProcessInfo:
    return r.ProcessInfo(
        PROCESS, 21398, None, None, "2.13.0+cpu", "3.11.2", "cpu", argv=[SCRIPT], ended="exited 0"
    )


def _history_worst() -> list[r.Worst]:
    return [
        r.Worst(
            "limit_hit", "attend() recompiles because a list grows", SCRIPT, 8, "attend", "for h in history:",
            "len(history) 0 -> 1 -> ... -> 8",
            "0.60 s in 7 recompiles (measured), 4 eager calls, and all later calls",
            "torch's own warning blames len(stats): it changed twice, history on all 8; fixing stats alone "
            "will not help",
            f"{SCRIPT}:19 main",
        ),
        r.Worst(
            "recompile", "same function, second cause: a dict grows", SCRIPT, 10, "attend",
            "for v in stats.values():", "len(stats) 0 -> 1 -> 2", None, None,
        ),
    ]  # fmt: skip


def _history_recompiles() -> list[r.Recompile]:
    grows: list[tuple[Any, Any]] = [(n, n + 1) for n in range(7)]
    return [
        r.Recompile(
            "attend", SCRIPT, 8, "container_length", "argument", None, "len(history)", grows, 7, 1, [], None,
            False, 0.6, [f"0/{n}" for n in range(1, 8)], f"{SCRIPT}:19 main", PROCESS, "for h in history:", 6,
            [(7, 8)],
        ),
        r.Recompile(
            "attend", SCRIPT, 10, "container_length", "argument", None, "len(stats)", [(0, 1)], 1, 1,
            [r.GuardChange("len(history)", 3, 4, "container_length")], None, False, 0.08, ["0/4"],
            f"{SCRIPT}:19 main", PROCESS, "for v in stats.values():", 2, [(1, 2)],
        ),
    ]  # fmt: skip


def _history_graph(n: int) -> r.Graph:
    placeholders = [
        r.Placeholder("l_x_", "tensor", "L['x']", "torch.float32", [16], [1], "cpu"),
        *(
            r.Placeholder(
                f"l_history_{i}_", "tensor", f"L['history'][{i}]", "torch.float32", [16], [1], "cpu"
            )
            for i in range(n)
        ),
    ]
    return r.Graph(
        0, f"0/{n}", "attend", SCRIPT, 5, 1 + 2 * n, 1, False, 0.05 + 0.015 * n, PROCESS,
        phases={"dynamo": 0.03, "backend_compile": 0.02 + 0.015 * n}, placeholders=placeholders,
        sizes_seen=[], backend="aot_eager",
    )  # fmt: skip


def _dynamic_graph() -> r.Graph:
    return r.Graph(
        0, "5/1", "Model.forward", "10_batch_size_drift.py", 12, 41, 37, True, 0.41, PROCESS,
        phases={"dynamo": 0.09, "aot_autograd": 0.2, "inductor": 0.12},
        cache={"fx_graph": "miss", "aot_autograd": "bypass"},
        placeholders=[
            r.Placeholder("s77", "symint", "L['x'].size()[0]", expr="s77", hint=12, range="[2, inf]"),
            r.Placeholder("l_x_", "tensor", "L['x']", "torch.float32", ["s77", 64], [64, 1], "cuda:0"),
            r.Placeholder("lr", "symfloat", "L['lr']", hint=0.001),
        ],
        sizes_seen=[r.SizeCount({"s77": 12}, 30), r.SizeCount({"s77": 8}, 7)],
        specializations=[
            r.Specialization("L['x'].size()[1]", "64", "matches a weight", "10_batch_size_drift.py", 14)
        ],
        kernels={"triton": 4, "extern": 2, "cpp": 0}, backend="inductor",
        missing=[r.Missing("autotune choices", "max_autotune is off")],
    )  # fmt: skip


def _rich_worst() -> list[r.Worst]:
    return [
        r.Worst(
            "graph_break", "forward() leaves the graph at an if on a tensor", "25_hot_loop_break.py", 13,
            "forward", "if h.norm() > 100.0:", "200 runs, 1 event", "200 graph exits (counted)", None,
        ),
        r.Worst(
            "graph_break", "debug_shape() writes to stderr inside the compiled region", "fauxlib/util.py", 8,
            "debug_shape", 'sys.stderr.write(f"{tag} {tuple(t.shape)}\\n")', "9 runs, 5 events",
            "9 graph exits (counted)", "called from train.py:15 through fauxlib/blocks.py:14",
        ),
        r.Worst("failure", "adaptive_step() failed to compile", "27_fullgraph_error.py", 8, "adaptive_step",
                "if h.abs().mean() > 0.5:", "Unsupported: Data-dependent branching", None, None),
    ]  # fmt: skip


def _breaks() -> list[r.GraphBreak]:
    return [
        r.GraphBreak(
            "25_hot_loop_break.py", 13, "forward", "if h.norm() > 100.0:", ["data_dependent_branch"],
            ["Data-dependent branching"], ["GB0170"], "the branch depends on the value of a tensor",
            "Use torch.cond or torch.where.", 1, 200, ["resumable"], ["25_hot_loop_break.py:33 main"],
            ["0/0"], PROCESS, runtime_hits_basis="calls of the graph that ends here",
        ),
        r.GraphBreak(
            "fauxlib/util.py", 8, "debug_shape", 'sys.stderr.write(f"{tag} {tuple(t.shape)}\\n")',
            ["stderr_write"], ["Unsupported method call"], ["GB0156"],
            "Dynamo does not know how to trace method `write` of class `TextIOWrapper`", None, 5, 9,
            ["frame_skipped", "resumable"],
            ["train.py:15 forward", "fauxlib/blocks.py:35 forward", "fauxlib/blocks.py:25 forward",
             "fauxlib/blocks.py:14 forward"], ["1/0", "2/0", "3/0"], PROCESS, library=True,
        ),
        _unknown_break(),
    ]  # fmt: skip


def _unknown_break() -> r.GraphBreak:
    return r.GraphBreak(
        "25_hot_loop_break.py", 21, "summarise", None, ["print"], ["Failed to trace builtin operator"],
        ["GB0059"], "print has side effects", None, 1, None, [], [], ["3/0"], PROCESS,
    )  # fmt: skip


def _more_recompiles() -> list[r.Recompile]:
    return [
        r.Recompile(
            "Model.forward", "10_batch_size_drift.py", 12, "size", "argument", None, "L['x'].size()[0]",
            [(32, 12)], 1, 0, [], None, True, 0.41, ["5/1"], "10_batch_size_drift.py:30 main", PROCESS,
            "return self.net(x)", 1,
            meaning="the last batch is shorter",
        ),
        r.Recompile(
            "forward", "02_item_and_tensor_branch.py", 15, "value",
            "resume_value", "float", "___stack0", [(2.018346548, 1.25)], 1, 0,
            [r.GuardChange("G['scale']", None, True, "value")],
            "02_item_and_tensor_branch.py:14", False, 0.22, ["1/1"], None, PROCESS, thread="worker-1",
        ),
    ]  # fmt: skip


def _more_frames() -> list[r.Frame]:
    return [
        r.Frame("forward", "25_hot_loop_break.py", 11, ["1/0"], 1, 3, 200, 0, 0.31, 1, 0, "graph break",
                PROCESS),
        r.Frame(
            "forward", "25_hot_loop_break.py", 11, ["2/0"], 1, 1, 200, 0, 0.12, 0, 0, "compiled", PROCESS, 13,
            "25_hot_loop_break.py:33 main",
        ),
        r.Frame(
            "Model.forward", "10_batch_size_drift.py", 12, ["5/0", "5/1"], 2, 82, 37, 0, 0.61, 0, 1,
            "recompiled", PROCESS,
        ),
        r.Frame(
            "adaptive_step", "27_fullgraph_error.py", 6, [], 0, None, None, None, None, 0, 0, "failed",
            PROCESS,
        ),
    ]  # fmt: skip


ALL = (history_grows, rich, empty, unknown, hostile, huge)
