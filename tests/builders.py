"""Report objects for tests of the views: rich (modelled on real programs), empty, hostile, huge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import builder_below as below
import builder_facts as facts
from builder_facts import PROCESS, SCRIPT

from compilescope.advice import advise, findings_json
from compilescope.analysis import report as r

DIFF = """\
--- a/24_history_grows.py
+++ b/24_history_grows.py
@@ -6,4 +6,4 @@
-    history.append(x)
+    history[step] = x
     for h in history:
"""


def history_grows() -> r.Report:
    """A list argument grows by one entry per call until the recompile limit refuses the frame."""
    return r.Report(
        format_version=r.FORMAT_VERSION,
        recording=facts.recording(SCRIPT),
        processes=[facts.process()],
        totals=r.Totals(1, 8, 8, 0, 0, 7, 1, 0, 0.86, 8, 4, blocked_by_limit=1),
        verdict=r.Verdict(
            [
                "Compiling took 0.86 s of 1.15 s (75 %).",
                "attend() hit the recompile limit: 4 of its 12 calls ran WITHOUT torch.compile.",
                "It did not settle: every call differed.",
            ],
            0.748,
            False,
            1.02,
        ),
        worst=facts.history_worst(),
        graph_breaks=[],
        recompiles=facts.history_recompiles(),
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
        graphs=[facts.history_graph(n) for n in range(8)],
        caches=r.CacheTotals({"bypass": 8}, {}),
        diagnoses=[],
        missing=[],
    )  # fmt: skip


def rich() -> r.Report:
    """Every section filled: breaks hot and cold, failures, skips, caches, missing facts, damage."""
    report = _rich()
    first, *others = findings_json(advise(report))
    return replace(report, findings=[first | {"diff": DIFF}, *others])


def _rich() -> r.Report:
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
                "attend() hit the recompile limit: 4 of its 12 calls ran WITHOUT torch.compile.",
                "An if on a tensor leaves the graph 200 times.",
            ],
        ),
        worst=[*base.worst, *facts.rich_worst()],
        graph_breaks=facts.breaks(),
        recompiles=[*base.recompiles, *facts.more_recompiles()],
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
        frames=[*base.frames, *facts.more_frames()],
        graphs=[*base.graphs, below.forward_graph(), below.backward_graph()],
        caches=r.CacheTotals({"hit": 3, "miss": 9, "bypass": 1}, {"miss": 12}),
        diagnoses=[r.Diagnosis("served_from_cache", "3 graphs came out of the FX graph cache.", PROCESS)],
        missing=[r.Missing("autotune timings", "torch 2.13.0 has no hook that CompileScope knows")],
        unknown_records={"future_kind": 12},
        phases=below.phases(),
        sizes=below.sizes(),
        buckets=below.buckets(),
        cudagraphs=below.cudagraphs(),
        compiled_autograd=below.compiled_autograd(),
        cache_misses=below.cache_misses(),
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
        graph_breaks=[facts.unknown_break()],
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

    report: r.Report = poison(rich(), attack)
    worst = [
        replace(report.worst[0], title=text, file=text, code=text, detail=text, note=text) for text in ATTACKS
    ]
    breaks = [
        replace(
            report.graph_breaks[0], file=text, line=number, reason=text, code=text, call_path=[text, text]
        )
        for number, text in enumerate(ATTACKS)
    ]
    names = ("summary", "file", "function", "code", "fix", "command", "diff", "could_be_wrong", "called_from")
    findings = [report.findings[0] | dict.fromkeys(names, text) for text in ATTACKS]
    return replace(report, worst=worst, graph_breaks=breaks, findings=findings)


def huge(rows: int = 3000) -> r.Report:
    """More rows than any page can show."""
    base = rich()
    worst = [replace(base.worst[0], title=f"frame_{n}() breaks", line=n) for n in range(rows)]
    return replace(
        base,
        totals=replace(base.totals, graph_break_sites=rows, compiles=rows * 10**6),
        worst=worst,
        findings=[base.findings[0] | {"summary": f"frame_{n}() breaks", "line": n} for n in range(rows)],
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
    "rule",
    "severity",
}
_NAMED = {"rule", "compile_ids", "per_1000_steps_s"}


def poison(value: Any, attack: Callable[[], str], name: str = "") -> Any:
    """``value`` with what ``attack`` returns in place of every text that a recording may choose."""
    if name in _KEPT:
        return value
    if isinstance(value, str):
        return attack()
    if isinstance(value, list | tuple):
        return type(value)(poison(item, attack) for item in value)
    if isinstance(value, dict):
        if _NAMED & value.keys():  # a finding: its names are ours
            return {key: poison(item, attack, key) for key, item in value.items()}
        return {f"{attack()}{n}": poison(item, attack) for n, item in enumerate(value.values())}
    if hasattr(value, "__dataclass_fields__"):
        fields = {key: poison(getattr(value, key), attack, key) for key in value.__dataclass_fields__}
        return type(value)(**fields)
    return value


ALL = (history_grows, rich, empty, unknown, hostile, huge)
