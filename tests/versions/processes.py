"""Facts about how a program is watched: late, in threads and processes, beside others, through resets."""

from __future__ import annotations

from fact import Fact

FACTS: dict[str, Fact] = {
    "late attach: what was compiled before is called since": Fact(
        """
        import sys
        from pathlib import Path
        @torch.compile(backend="eager")
        def f(x): return x + 1
        f(x); f(x)
        import compilescope.capture as capture
        capture.attach(Path(sys.argv[1]))
        for _ in range(3): f(x)
        """,
        lambda r: ([(f.status, f.compiled_calls) for f in r.frames], [d.slug for d in r.diagnoses]),
        ([("earlier", 3)], ["attached_late"]),
        attach=True,
    ),
    "threads: compiles and calls of both are counted": Fact(
        """
        import threading
        f = torch.compile(lambda x, n: x + n, backend="eager", dynamic=False)
        def run(n):
            for _ in range(5): f(torch.ones(n), n)
        # torch 2.11 built for CUDA crashes by itself where a thread compiles first and there is no GPU.
        torch.compile(lambda x: x * 2, backend="eager")(x)
        threads = [threading.Thread(target=run, args=(n,), name="worker") for n in (2, 3)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        """,
        lambda r: (r.totals.compiles, r.totals.compiled_calls),
        (3, 11),
    ),
    "reset: calls on both sides": Fact(
        """
        @torch.compile(backend="eager")
        def f(x): return x + 1
        f(x); f(x); torch._dynamo.reset(); f(x)
        """,
        lambda r: [(g.epoch, g.compile_id, g.calls) for g in r.graphs],
        [(0, "0/0", 2), (1, "0/0", 1)],
    ),
    "fork: the child counts on its own": Fact(
        """
        import os
        @torch.compile(backend="eager")
        def f(x): return x + 1
        f(x)
        pid = os.fork()
        for _ in range(2 if pid else 3): f(x)
        if pid: os.waitpid(pid, 0)
        """,
        lambda r: sorted((len(r.processes), g.calls) for g in r.graphs),
        [(2, 3), (2, 3)],
    ),
    "spawn and several processes: one report": Fact(
        """
        import multiprocessing
        def work(n):
            f = torch.compile(lambda x: x + 1, backend="eager")
            for _ in range(n): f(torch.ones(2))
        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            children = [context.Process(target=work, args=(n,)) for n in (2, 3)]
            for child in children: child.start()
            for child in children: child.join()
            work(1)
        """,
        lambda r: sorted((len({g.process for g in r.graphs}), g.calls) for g in r.graphs),
        [(3, 1), (3, 2), (3, 3)],
    ),
    "set_logs: nothing is lost": Fact(
        """
        import logging
        torch._logging.set_logs(dynamo=logging.DEBUG, guards=True)
        torch.compile(lambda x: x + 1, backend="eager")(x)
        torch._logging.set_logs()
        torch.compile(lambda x: x + 2, backend="eager")(x)
        """,
        lambda r: (r.totals.compiles, r.totals.compiled_calls),
        (2, 2),
    ),
    "logging.disable: nothing is lost": Fact(
        """
        import logging
        logging.disable(logging.CRITICAL)
        torch.compile(lambda x: x + 1, backend="eager")(x)
        """,
        lambda r: (r.totals.compiles, r.totals.compiled_calls),
        (1, 1),
    ),
    "another consumer of the trace": Fact(
        """
        import logging, os
        class Other(logging.Handler):
            seen = 0
            def emit(self, record): Other.seen += 1
        logging.getLogger("torch.__trace").addHandler(Other())
        torch.compile(lambda x: x + 1, backend="eager")(x)
        assert Other.seen > 0 and os.listdir(os.environ["TORCH_TRACE"])
        """,
        lambda r: (r.totals.compiles, r.totals.compiled_calls),
        (1, 1),
        env={"TORCH_TRACE": "trace"},
    ),
    "stance: eager while it is forced": Fact(
        """
        @torch.compile(backend="eager")
        def f(x): return x + 1
        f(x)
        with torch.compiler.set_stance("force_eager"):
            f(torch.ones(9))
        f(x)
        """,
        lambda r: (r.totals.compiles, r.totals.compiled_calls),
        (1, 2),
    ),
}
