"""Facts about the backward: when it was compiled, how often it ran, compiled autograd."""

from __future__ import annotations

from fact import Fact

FACTS: dict[str, Fact] = {
    "backward: calls, compiled lazily or with the forward": Fact(
        """
        @torch.compile
        def f(x, w): return (x @ w).relu().sum()
        w = torch.ones(3, 2, requires_grad=True)
        for n in (4, 4, 6, 8):
            f(torch.ones(n, 3), w).backward()
        """,
        lambda r: [(g.backward_compiled, g.calls) for g in r.graphs if g.backward],
        [("lazily", 2), ("with the forward", 2)],
    ),
    "backward: from the cache": Fact(
        """
        def run():
            torch._dynamo.reset()
            f = torch.compile(lambda x: (x * x).sin().sum())
            f(torch.ones(4, requires_grad=True)).backward()
        run(); run()
        """,
        lambda r: [g.backward_compiled for g in r.graphs if g.backward],
        ["lazily", "from the cache"],
    ),
    "compiled autograd: captures": Fact(
        """
        def f(x): return (x * x).sum()
        y = torch.ones(4, requires_grad=True)
        with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager")):
            for _ in range(2): f(y).backward()
            f(torch.ones(6, requires_grad=True)).backward()
        """,
        lambda r: [c.captures for c in r.compiled_autograd],
        [2],
    ),
}
