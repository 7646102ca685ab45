"""Which facts this torch gives: small programs whose answer is known by construction, one fact each.

Run by the interpreter of that version: ``python facts.py --json OUT``. A fact is "ok", "wrong: …" or
"missing: …". Nothing here knows torch's version: what a version lacks shows by itself.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from compilescope.analysis import build_report
from compilescope.capture import probe
from compilescope.recording import open_recording

PRELUDE = "import torch, enum\ntorch._dynamo.config.recompile_limit = 3\nx = torch.ones(4, 3)\n"

Check = Callable[[Any], Any]

# fact -> (program, what the report must say, the expected answer)
FACTS: dict[str, tuple[str, Check, Any]] = {
    "graph break: line, id, run-time hits": (
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
    "recompile: old and new value of an argument": (
        """
        @torch.compile(backend="eager")
        def f(x, s): return x * len(s)
        for s in ("a", "bb"): f(x, s)
        """,
        lambda r: [(c.kind, c.source, c.changes, c.holder) for c in r.recompiles],
        [("value", "s", [("a", "bb")], "argument")],
    ),
    "recompile: every failing guard of the newest entry": (
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
    "recompile: size": (
        """
        @torch.compile(backend="eager", dynamic=False)
        def f(x): return x + 1
        f(x); f(torch.ones(7, 3))
        """,
        lambda r: [(c.kind, c.source, c.changes) for c in r.recompiles],
        [("size", "x dim 0", [(4, 7)])],
    ),
    "recompile: grad mode": (
        """
        @torch.compile(backend="eager")
        def f(x): return x + 1
        f(x)
        with torch.no_grad(): f(x)
        """,
        lambda r: [(c.kind, c.changes) for c in r.recompiles],
        [("grad_mode", [(True, False)])],
    ),
    "recompile limit: exact eager and total calls": (
        """
        @torch.compile(backend="eager", dynamic=False)
        def f(x, s): return x * len(s)
        for i in range(10): f(x, str(i) * 2)
        """,
        lambda r: [(h.function, h.limit, h.eager_calls, h.total_calls) for h in r.limit_hits],
        [("f", 3, 7, 10)],
    ),
    "sizes: counts of a symbol's values": (
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
    "placeholders: a SymInt with its source": (
        """
        @torch.compile(backend="eager")
        def f(x): return x * x.shape[0]
        torch._dynamo.mark_dynamic(x, 0)
        f(x)
        """,
        lambda r: [p.source for g in r.graphs for p in g.placeholders if p.kind == "symint"],
        ["L['x'].size()[0]"],
    ),
    "failure: exception, line": (
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
    "skipped frame with its reason": (
        """
        @torch.compile(backend="eager")
        def f(n): return n + 1
        f(1)
        """,
        lambda r: [(s.function, bool(s.reason)) for s in r.skips],
        [("f", True)],
    ),
    "nothing compiled: a stance": (
        """
        f = torch.compile(lambda x: x + 1, backend="eager")
        torch.compiler.set_stance("force_eager")
        f(x)
        """,
        lambda r: "force_eager" in " ".join(d.text for d in r.diagnoses),
        True,
    ),
    "epochs: reset starts ids again": (
        """
        @torch.compile(backend="eager")
        def f(x): return x + 1
        f(x); torch._dynamo.reset(); f(x)
        """,
        lambda r: (r.totals.compiles, r.totals.recompiles),
        (2, 0),
    ),
}


# fact -> the hook without which this torch cannot tell it
NEEDS = {"skipped frame with its reason": "skip_reasons"}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path, required=True)
    out = parser.parse_args().json
    hooks = probe()
    facts = {name: _try(*fact) for name, fact in FACTS.items()}
    for name, hook in NEEDS.items():
        if hooks[hook] != "ok":
            facts[name] = hooks[hook]
    told = facts | {f"hook: {name}": state for name, state in hooks.items()}
    out.write_text(json.dumps({"torch": torch.__version__, "facts": told}, indent=1) + "\n")


def _try(program: str, ask: Check, expected: Any) -> str:
    lines = program.split("\n")
    body = "\n".join(line[8:] for line in lines)
    with tempfile.TemporaryDirectory() as folder:
        script, recording = Path(folder) / "program.py", Path(folder) / "rec"
        script.write_text(PRELUDE + body)
        command = [sys.executable, "-m", "compilescope", "run", "-q", "-o", str(recording), str(script)]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
        if run.returncode != 0:
            return f"wrong: the program ended with {run.returncode}: {run.stderr[-200:]}"
        report = build_report(open_recording(recording))
        answer = ask(report)
    if answer == expected:
        return "ok"
    return f"wrong: {answer!r}"


if __name__ == "__main__":
    main()
