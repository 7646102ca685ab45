"""Facts about what compiling and checking cost: guards, phases, caches."""

from __future__ import annotations

from typing import Any

from fact import Fact


def _adds_up(report: Any) -> bool:
    phases = report.phases
    return bool(phases.wall_s) and abs(phases.sum_s / phases.wall_s - 1) < 0.02


FACTS: dict[str, Fact] = {
    "guards: list with source, kind and line": Fact(
        """
        @torch.compile(backend="eager")
        def f(x, n):
            return x * n
        f(x, 3)
        """,
        lambda r: [
            (row.kinds, row.at.line if row.at else None)
            for g in r.graphs
            for row in g.guards.rows
            if row.source == "L['n']"
        ],
        [(["EQUALS_MATCH"], 7)],
    ),
    "guards: cold and hot check": Fact(
        """
        f = torch.compile(lambda x: x + 1, backend="eager")
        f(x)
        """,
        lambda r: [g.guards.hot_check_us > 0 and g.guards.cold_check_us is not None for g in r.graphs],
        [True],
    ),
    "guards: share of a call": Fact(
        """
        import time
        @torch.compile(backend="eager")
        def f(x): return x + 1
        for _ in range(40):
            f(x); time.sleep(0.05)
        """,
        lambda r: [
            (c.share is not None and c.share < 0.01, (c.call_us or 0) > 49_000) for c in r.guard_costs
        ],
        [(True, True)],
    ),
    "phases: they add up to the compile wall": Fact(
        """
        @torch.compile
        def f(x): return (x @ x).relu().sum()
        f(torch.ones(8, 8, requires_grad=True)).backward()
        """,
        _adds_up,
        True,
    ),
    "phases: which was open when it was killed": Fact(
        """
        import os, signal, threading, time
        def kill():
            time.sleep(3); os.kill(os.getpid(), signal.SIGKILL)
        def backend(graph, inputs):
            threading.Thread(target=kill).start()
            time.sleep(60)
        torch.compile(lambda x: x + 1, backend=backend)(x)
        """,
        lambda r: [(o.compile_id, any("backend" in name for name in o.stack)) for o in r.phases.open],
        [("0/0", True)],
        status=137,
    ),
    "caches: FX graph and AOTAutograd, miss and hit": Fact(
        """
        for _ in range(2):
            torch._dynamo.reset()
            torch.compile(lambda x: x.sin() + 1)(x)
        """,
        lambda r: (r.caches.fx_graph, r.caches.aot_autograd, r.caches.saved_s.get("fx_graph", 0) > 0),
        ({"miss": 1, "hit": 1}, {"miss": 1, "hit": 1}, True),
    ),
    "caches: a bypass with its reason": Fact(
        """
        torch._inductor.config.fx_graph_cache = False
        torch.compile(lambda x: x.sin() + 1)(x)
        """,
        lambda r: [(o.cache, o.outcome, bool(o.reason)) for g in r.graphs for o in g.cache_outcomes],
        [("aot_autograd", "bypass", True)],
    ),
    "caches: a profile (PGO) missed": Fact(
        """
        torch.compile(lambda x: x + 1, backend="eager")(x)
        """,
        lambda r: [(p.outcome, bool(p.key)) for p in r.caches.profiles],
        [("miss", True)],
        env={"TORCH_COMPILE_JOB_ID": "facts"},
        needs="pgo",
    ),
}
