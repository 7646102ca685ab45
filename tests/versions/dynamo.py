"""Facts about frames: breaks, recompiles, limits, failures, skips."""

from __future__ import annotations

from fact import Fact

FACTS: dict[str, Fact] = {
    "graph break: line, id, run-time hits": Fact(
        """
        @torch.compile(backend="eager")
        def f(x):
            y = x + 1
            print(end="")
            return y * 2
        for _ in range(3): f(x)
        """,
        lambda r: [(b.line, bool(b.gb_ids), b.runtime_hits, b.resume) for b in r.graph_breaks],
        [(8, True, 3, ["resumable"])],
    ),
    "recompile: old and new value of an argument": Fact(
        """
        @torch.compile(backend="eager")
        def f(x, s): return x * len(s)
        for s in ("a", "bb"): f(x, s)
        """,
        lambda r: [(c.kind, c.source, c.changes, c.holder) for c in r.recompiles],
        [("value", "s", [("a", "bb")], "argument")],
    ),
    "recompile: every failing guard of the newest entry": Fact(
        """
        @torch.compile(backend="eager", dynamic=False)
        def f(x, h, d):
            x = x + 1
            for v in d.values(): x = x + v
            for v in h: x = x + v
            return x
        f(x, [], {})
        f(x, [x], {"a": x})
        """,
        lambda r: sorted((c.kind, c.source, c.changes) for c in r.recompiles),
        [("container_length", "len(d)", [(0, 1)]), ("container_length", "len(h)", [(0, 1)])],
    ),
    "recompile: size": Fact(
        """
        @torch.compile(backend="eager", dynamic=False)
        def f(x): return x + 1
        f(x); f(torch.ones(7, 3))
        """,
        lambda r: [(c.kind, c.source, c.changes) for c in r.recompiles],
        [("size", "x dim 0", [(4, 7)])],
    ),
    "recompile: grad mode": Fact(
        """
        @torch.compile(backend="eager")
        def f(x): return x + 1
        f(x)
        with torch.no_grad(): f(x)
        """,
        lambda r: [(c.kind, c.changes) for c in r.recompiles],
        [("grad_mode", [(True, False)])],
    ),
    "recompile limit: exact eager and total calls": Fact(
        """
        @torch.compile(backend="eager", dynamic=False)
        def f(x, s): return x * len(s)
        for i in range(10): f(x, str(i) * 2)
        """,
        lambda r: [(h.function, h.limit, h.eager_calls, h.total_calls) for h in r.limit_hits],
        [("f", 3, 7, 10)],
    ),
    "sizes: counts of a symbol's values": Fact(
        """
        @torch.compile(backend="eager", dynamic=True)
        def f(x): return x.sum(1)
        for n in (4, 5, 5, 6): f(torch.ones(n, 3))
        """,
        lambda r: sorted(
            n for g in r.graphs for s in g.sizes_seen or [] for n in [(*s.values.values(), s.count)]
        ),
        [(4, 3, 1), (5, 3, 2), (6, 3, 1)],
    ),
    "placeholders: a SymInt with its source": Fact(
        """
        @torch.compile(backend="eager")
        def f(x): return x * x.shape[0]
        torch._dynamo.mark_dynamic(x, 0)
        f(x)
        """,
        lambda r: [p.source for g in r.graphs for p in g.placeholders if p.kind == "symint"],
        ["L['x'].size()[0]"],
    ),
    "failure: exception, line": Fact(
        """
        @torch.compile(fullgraph=True, backend="eager")
        def f(x):
            return x if x.sum() > 0 else -x
        try: f(x)
        except Exception: pass
        """,
        lambda r: [(f.exception, f.line) for f in r.failures],
        [("Unsupported", 7)],
    ),
    "skipped frame with its reason": Fact(
        """
        @torch.compile(backend="eager")
        def f(n): return n + 1
        f(1)
        """,
        lambda r: [(s.function, bool(s.reason)) for s in r.skips],
        [("f", True)],
        needs="skip_reasons",
    ),
    "nothing compiled: a stance": Fact(
        """
        f = torch.compile(lambda x: x + 1, backend="eager")
        torch.compiler.set_stance("force_eager")
        f(x)
        """,
        lambda r: "force_eager" in " ".join(d.text for d in r.diagnoses),
        True,
    ),
    "epochs: reset starts ids again": Fact(
        """
        @torch.compile(backend="eager")
        def f(x): return x + 1
        f(x); torch._dynamo.reset(); f(x)
        """,
        lambda r: (r.totals.compiles, r.totals.recompiles),
        (2, 0),
    ),
}
