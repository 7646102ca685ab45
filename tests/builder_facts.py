"""Single facts for the report objects of `builders`, modelled on what real programs record."""

from __future__ import annotations

from typing import Any

from compilescope.analysis import report as r

PROCESS = "pid21398-ab12cd34"
SCRIPT = "24_history_grows.py"


def recording(name: str) -> r.RecordingInfo:
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


def process() -> r.ProcessInfo:
    return r.ProcessInfo(
        PROCESS, 21398, None, None, "2.13.0+cpu", "3.11.2", "cpu", argv=[SCRIPT], ended="exited 0"
    )


def history_worst() -> list[r.Worst]:
    return [
        r.Worst(
            "limit_hit", "attend() recompiles because a list grows", SCRIPT, 8, "attend", "for h in history:",
            "len(history) 0 -> 1 -> ... -> 8",
            "0.60 s in 7 recompiles (measured), 4 eager calls, and later calls that fit no graph",
            "torch's own warning blames len(stats): it changed twice, history on all 8; fixing stats alone "
            "will not help",
            f"{SCRIPT}:19 main",
            "keep a preallocated tensor of fixed size and write into it",
        ),
        r.Worst(
            "recompile", "same function, second cause: a dict grows", SCRIPT, 10, "attend",
            "for v in stats.values():", "len(stats) 0 -> 1 -> 2", None, None,
        ),
    ]  # fmt: skip


def history_recompiles() -> list[r.Recompile]:
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


def history_graph(n: int) -> r.Graph:
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


def dynamic_graph() -> r.Graph:
    return r.Graph(
        0, "5/1", "Model.forward", "10_batch_size_drift.py", 12, 41, 37, False, 0.41, PROCESS,
        phases={"dynamo": 0.09, "aot_autograd": 0.2, "inductor": 0.12},
        cache={"fx_graph": {"miss": 1}, "aot_autograd": {"bypass": 1}},
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


def rich_worst() -> list[r.Worst]:
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


def breaks() -> list[r.GraphBreak]:
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
        unknown_break(),
    ]  # fmt: skip


def unknown_break() -> r.GraphBreak:
    return r.GraphBreak(
        "25_hot_loop_break.py", 21, "summarise", None, ["print"], ["Failed to trace builtin operator"],
        ["GB0059"], "print has side effects", None, 1, None, [], [], ["3/0"], PROCESS,
    )  # fmt: skip


def more_recompiles() -> list[r.Recompile]:
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


def more_frames() -> list[r.Frame]:
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
