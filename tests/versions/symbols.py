"""Facts about sizes: symbols, what ties and fixes them, and which sizes a program ran with."""

from __future__ import annotations

from fact import Fact

FACTS: dict[str, Fact] = {
    "symbols: range, hint, and the line that made one": Fact(
        """
        @torch.compile(backend="eager")
        def f(x):
            return x * 2
        torch._dynamo.mark_dynamic(x, 0)
        f(x)
        """,
        lambda r: [
            (s.sources, s.hint, (s.range or "")[:2], s.backed, s.created_at is not None)
            for g in r.graphs
            for s in g.symbols
        ],
        [(["L['x'].size()[0]"], 4, "[2", True, True)],
    ),
    "symbols: equal dims tied together": Fact(
        """
        @torch.compile(backend="eager", dynamic=True)
        def f(x, y): return x.sum() + y.sum()
        f(torch.ones(6), torch.ones(6))
        """,
        lambda r: [s.sources for g in r.graphs for s in g.symbols],
        [["L['x'].size()[0]", "L['y'].size()[0]"]],
    ),
    "symbols: unbacked, of data": Fact(
        """
        torch._dynamo.config.capture_scalar_outputs = True
        @torch.compile(backend="eager", fullgraph=True)
        def f(x):
            n = x.sum().item()
            return x * n
        f(torch.ones(3, dtype=torch.int64))
        """,
        lambda r: [(s.backed, s.hint) for g in r.graphs for s in g.symbols if not s.backed],
        [(False, None)],
    ),
    "symbols: specialized, with value, reason and line": Fact(
        """
        @torch.compile(backend="eager", dynamic=True)
        def f(x):
            n = x.shape[0]
            return x.new_ones(5) if n == 6 else x
        f(torch.ones(6))
        """,
        lambda r: [(s.source, s.value, s.line, bool(s.reason)) for g in r.graphs for s in g.specializations],
        [("L['x'].size()[0]", "6", 8, True)],
    ),
    "symbols: a guard on one, with its line": Fact(
        """
        @torch.compile(backend="eager", dynamic=True)
        def f(x):
            if x.shape[0] > 5:
                return x + 1
            return x - 1
        f(torch.ones(8))
        """,
        lambda r: [
            (" > 5" in guard.expr or " >= 6" in guard.expr, guard.at.line if guard.at else None)
            for g in r.graphs
            for guard in g.symbol_guards
            if "5" in guard.expr or "6" in guard.expr
        ],
        [(True, 7)],
    ),
    "symbols: a violated mark_dynamic, guilty line and partner": Fact(
        """
        @torch.compile(backend="eager")
        def f(x, y):
            return x + y
        torch._dynamo.mark_dynamic(x, 0)
        try: f(x, torch.ones(4, 3))
        except Exception: pass
        """,
        lambda r: (
            [(f.exception, f.line, "L['x'].size()[0]" in f.message) for f in r.failures],
            [(s.line, s.value, s.partner) for g in r.graphs for s in g.specializations],
        ),
        ([("ConstraintViolationError", 7, True)], [(7, "4", "y dim 0")]),
    ),
    "sizes: the constant of a static entry times its calls": Fact(
        """
        @torch.compile(backend="eager")
        def f(x): return x + 1
        for n in (4, 4, 7, 9): f(torch.ones(n, 3))
        """,
        lambda r: [sorted((*row.values.values(), row.count, row.basis) for row in s.rows) for s in r.sizes],
        [[(4, 2, "static"), (7, 1, "counted"), (9, 1, "counted")]],
    ),
    "sizes: tuples over time": Fact(
        """
        import time
        @torch.compile(backend="eager", dynamic=True)
        def f(x): return x.sum()
        for n in (4, 4): f(torch.ones(n, 3))
        time.sleep(1.2)
        for n in (5, 6, 6): f(torch.ones(n, 3))
        """,
        lambda r: [step.counts for s in r.sizes for step in s.steps],
        [{"4x3": 2}, {"5x3": 1, "6x3": 2}],
    ),
    "sizes: the share of calls whose size was not seen": Fact(
        """
        @torch.compile(backend="eager", dynamic=False)
        def f(x): return x + 1
        for n in range(2, 12): f(torch.ones(n))
        """,
        lambda r: [(s.seen_calls, s.unseen_calls, s.unseen_share) for s in r.sizes],
        [(3, 7, 0.7)],
    ),
}
