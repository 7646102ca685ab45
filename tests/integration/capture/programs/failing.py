"""Programs that fail in the ways torch.compile can, each with its traceback on stderr; the last one ends it.

usage: python failing.py without|with RECORDING [unused]
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Any

import torch


def breaks_under_fullgraph() -> Any:
    @torch.compile(backend="eager", fullgraph=True)
    def run(x: torch.Tensor) -> torch.Tensor:
        torch._dynamo.graph_break()
        return x

    return run(torch.ones(2))


def raises_in_its_own_code() -> Any:
    def check(x: torch.Tensor) -> None:
        torch._dynamo.graph_break()
        raise LookupError("the program's own")

    @torch.compile(backend="eager")
    def run(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        check(y)
        return y

    return run(torch.ones(2))


def backend_fails() -> Any:
    def backend(gm: Any, inputs: Any) -> Any:
        raise ArithmeticError("no such code generator")

    return torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2))


def graph_fails_when_it_runs() -> Any:
    def backend(gm: Any, inputs: Any) -> Any:
        def compiled(*args: Any) -> Any:
            raise OverflowError("inside the compiled graph")

        return compiled

    return torch.compile(lambda x: x * 3, backend=backend)(torch.ones(2))


def wrong_shapes() -> Any:
    return torch.compile(torch.mm, backend="eager")(torch.ones(2, 3), torch.ones(2, 3))


def limit_under_fullgraph() -> Any:
    @torch.compile(backend="eager", fullgraph=True, dynamic=False)
    def run(x: torch.Tensor, n: int) -> torch.Tensor:
        return x + n

    with torch._dynamo.config.patch(recompile_limit=1):
        for n in range(4):
            run(torch.ones(2), n)


def recompiling_is_forbidden() -> Any:
    run = torch.compile(lambda x: x + 1, backend="eager", dynamic=False)
    run(torch.ones(2))
    with torch.compiler.set_stance("fail_on_recompile"):
        run(torch.ones(3))


def backend_is_unknown() -> Any:
    return torch.compile(lambda x: x, backend="no_such_backend")(torch.ones(1))


FAILING = (
    breaks_under_fullgraph,
    raises_in_its_own_code,
    backend_fails,
    graph_fails_when_it_runs,
    wrong_shapes,
    limit_under_fullgraph,
    recompiling_is_forbidden,
    backend_is_unknown,
)


def main() -> None:
    if sys.argv[1] == "with":
        import compilescope.capture

        compilescope.capture.attach(Path(sys.argv[2]))
    for failing in FAILING:
        torch._dynamo.reset()
        try:
            failing()
        except Exception:
            print(f"== {failing.__name__}", file=sys.stderr)
            traceback.print_exc()
    with torch._dynamo.config.patch(suppress_errors=True):
        print(backend_fails().tolist(), file=sys.stderr)
    breaks_under_fullgraph()


main()
