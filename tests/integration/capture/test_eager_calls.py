"""After the recompile limit: exactly how many calls of which function run without torch.compile."""

from __future__ import annotations

import linecache
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

pytestmark = pytest.mark.xdist_group("capture_eager")

X = torch.ones(3)
LIMIT = 2


@pytest.fixture(autouse=True)
def _limit() -> Iterator[None]:
    with torch._dynamo.config.patch(recompile_limit=LIMIT, automatic_dynamic_shapes=False):
        yield


def _static(function: Callable[..., Any]) -> Any:
    return torch.compile(function, backend="eager", dynamic=False)


def add(x: torch.Tensor, n: int) -> torch.Tensor:
    return x + n


def scale(x: torch.Tensor, n: int) -> torch.Tensor:
    return x * n


def _with(name: str) -> Any:
    return _made(name, f"def {name}(x, n):\n    return x - n\n")


def _made(name: str, source: str) -> Any:
    """A function of its own file. torch 2.11 puts its own frame around one whose source cannot be found, and
    all of those share it, and one recompile limit.
    """
    path = f"/user/{name}.py"
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    scope: dict[str, Any] = {}
    exec(compile(source, path, "exec"), scope)
    return scope[name]


def test_one_refused_function(recording: Any) -> None:
    with recording() as recorded:
        run = _static(add)
        for n in [*range(10), 0, 1, 0, 7]:
            run(X, n)
    assert recorded.eager() == {"add": 9}
    assert recorded.calls() == [3, 2]


@pytest.mark.parametrize("how", ["value", "dtype", "grad mode", "size"])
def test_two_refused_functions_are_told_apart(how: str, recording: Any) -> None:
    misses: dict[str, Callable[[Any, int], Any]] = {
        "value": lambda run, n: run(X, 100 + n),
        "dtype": lambda run, n: run(X.to((torch.int32, torch.float64)[n % 2]), 0),
        "grad mode": lambda run, n: torch.no_grad()(run)(X, 0),
        "size": lambda run, n: run(torch.ones(5 + n), 0),
    }
    miss = misses[how]
    with recording() as recorded:
        first, second = _static(add), _static(scale)
        for n in range(5):
            first(X, n)
        for n in range(6):
            second(X, n)
        for n in range(7):
            miss(first, n)
            miss(second, n)
            miss(second, n)
            first(X, 0)
            second(X, 1)
    assert recorded.eager() == {"add": 3 + 7, "scale": 4 + 14}
    assert sum(recorded.calls()) == 2 * LIMIT + 14


def test_many_refused_functions(recording: Any) -> None:
    functions = [_static(_with(f"f{i}")) for i in range(6)]
    with recording() as recorded:
        for n in range(8):
            for i, run in enumerate(functions):
                for _ in range(i + 1):
                    run(X, n)
    assert recorded.eager() == {f"f{i}": 6 * (i + 1) for i in range(6)}


def test_functions_that_are_only_compiled_are_not_counted(recording: Any) -> None:
    with recording() as recorded:
        refused, fine = _static(add), _static(scale)
        for n in range(5):
            refused(X, n)
            fine(X, 1)
        fine(X, 2)
    assert recorded.eager() == {"add": 3}


def _counting_hook(name: str) -> Any:
    """A forward hook that reads a step of its own: one recompile for every call."""
    return _made(
        name, f"def {name}(module, args, out):\n    module.{name} += 1\n    return out * module.{name}\n"
    )


class _Broken(nn.Module):  # type: ignore[misc]
    """Its submodule is called after a graph break, so each hook is a frame of its own."""

    def __init__(self, hooks: list[str]) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        for name in hooks:
            setattr(self.linear, name, 0)
            self.linear.register_forward_hook(_counting_hook(name))

    @torch.compiler.disable(recursive=False)  # type: ignore[untyped-decorator]
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


def test_two_hooks_refused_at_the_same_call_site(recording: Any) -> None:
    model = _Broken(["first_hook", "second_hook"])

    @torch.compiler.disable(recursive=False)  # type: ignore[untyped-decorator]
    def call(hook: Any, out: torch.Tensor) -> torch.Tensor:
        return hook(model.linear, (), out)

    first, second = (_static(hook) for hook in model.linear._forward_hooks.values())
    with recording() as recorded:
        for n in range(9):
            for hook in (first, second, second) if n % 2 else (first, second):
                call(hook, X)
    assert recorded.eager() == {"first_hook": 9 - LIMIT, "second_hook": 13 - LIMIT}


def test_a_resume_function(recording: Any) -> None:
    def broken(x: torch.Tensor, n: int) -> torch.Tensor:
        y = x.sin()
        torch._dynamo.graph_break()
        return y * n

    with recording() as recorded:
        run = _static(broken)
        for n in range(9):
            run(X, n)
    ((name, eager),) = recorded.eager().items()
    assert name.startswith("torch_dynamo_resume_in_broken")
    assert eager == 7


def test_what_an_eager_call_calls_is_not_counted_again(recording: Any) -> None:
    def never_compiled(x: torch.Tensor, n: int) -> torch.Tensor:
        return x - n

    def outer(x: torch.Tensor, n: int) -> torch.Tensor:
        return never_compiled(x + n, n)

    with recording() as recorded:
        run = _static(outer)
        for n in range(9):
            run(X, n)
    assert recorded.eager() == {"outer": 7}


def test_an_eager_call_that_calls_compiled_functions(recording: Any) -> None:
    inner = _static(scale)

    def outer(x: torch.Tensor, n: int) -> torch.Tensor:
        torch._dynamo.graph_break()
        return inner(x, n % 5) + n

    with recording() as recorded:
        run = _static(outer)
        for n in range(12):
            run(X, n)
    eager = recorded.eager()
    outer_names = [name for name in eager if name != "scale"]
    assert eager[outer_names[0]] == 10
    assert None not in eager


def test_threads(recording: Any) -> None:
    first, second = _static(add), _static(scale)
    with recording() as recorded:
        for n in range(3):
            first(X, n)
            second(X, n)

        def work(run: Any, n: int) -> None:
            for i in range(n):
                run(X, 100 + i)

        jobs = [(first, 200), (second, 350), (first, 150), (second, 50)]
        threads = [threading.Thread(target=work, args=job) for job in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert recorded.eager() == {"add": 1 + 350, "scale": 1 + 400}


@pytest.mark.parametrize("stance", ["eager_on_recompile", "fail_on_recompile", "force_eager"])
def test_a_stance_does_not_count_for_a_refused_function(stance: str, recording: Any) -> None:
    with recording() as recorded:
        refused, other = _static(add), _static(scale)
        for n in range(5):
            refused(X, n)
        other(X, 1)
        with torch.compiler.set_stance(stance):
            for n in range(20, 25):
                try:
                    other(X, n)
                except RuntimeError:
                    assert stance == "fail_on_recompile"
    assert recorded.eager().get("add") == 3


def test_after_a_reset_counting_goes_on_rightly(recording: Any) -> None:
    with recording() as recorded:
        first, second = _static(add), _static(scale)
        for n in range(5):
            first(X, n)
        torch._dynamo.reset()
        for n in (1, 1, 2):
            first(X, n)
        for n in range(1, 7):
            second(X, n)
    assert recorded.eager() == {"add": 3, "scale": 4}


def test_an_exception_in_an_eager_call_is_still_a_call(recording: Any) -> None:
    def picky(x: torch.Tensor, n: int) -> torch.Tensor:
        if n > 6:
            raise ValueError(n)
        return x + n

    with recording() as recorded:
        run = _static(picky)
        for n in range(9):
            try:
                run(X, n)
            except ValueError:
                assert n > 6
    assert recorded.eager() == {"picky": 7}


def test_a_hook_of_somebody_else_is_chained_and_put_back(recording: Any) -> None:
    from torch._C._dynamo.eval_frame import set_guard_complete_hook

    seen: list[bool] = []

    def theirs(hit: bool) -> bool:
        seen.append(hit)
        return hit

    set_guard_complete_hook(theirs)
    try:
        with recording() as recorded:
            run = _static(add)
            for n in range(6):
                run(X, n)
        assert set_guard_complete_hook(None) is theirs
    finally:
        set_guard_complete_hook(None)
    assert recorded.eager() == {"add": 4}
    assert seen[-3:] == [False] * 3


def test_without_a_refusal_there_is_no_hook(recording: Any) -> None:
    from torch._C._dynamo.eval_frame import set_guard_complete_hook

    with recording():
        run = _static(add)
        run(X, 1), run(X, 2), run(X, 1)
        assert set_guard_complete_hook(None) is None
