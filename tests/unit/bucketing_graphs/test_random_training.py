"""Random networks and random orders of forwards, backwards, steps and evaluations: eager's numbers."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch._functorch import config as functorch

from compilescope.bucketing import bucketed
from compilescope.ladder import BucketLadder

from .conftest import give_recorder
from .twins import ROWS, Twins, copied, same

WIDTH = 8


def with_buffer(x: torch.Tensor, e: torch.Tensor, m: Any) -> torch.Tensor:
    m.seen.mul_(0.9).add_(x.detach().mean(0))
    return x + m.seen


OPS: dict[str, Any] = {
    "linear": lambda x, e, m: x @ m.w + m.b,
    "transposed linear": lambda x, e, m: x @ m.w.t(),
    "relu": lambda x, e, m: x.relu(),
    "tanh": lambda x, e, m: x.tanh(),
    "softmax": lambda x, e, m: x.softmax(-1),
    "norm": lambda x, e, m: torch.nn.functional.layer_norm(x, (WIDTH,), m.b),
    "earlier": lambda x, e, m: x * e,
    "flipped": lambda x, e, m: torch.cat(list(x.chunk(2, 1))[::-1], 1),
    "view": lambda x, e, m: x.view(-1, 2, 4).transpose(1, 2).reshape(-1, WIDTH),
    "over rows": lambda x, e, m: x - x.mean(0),
    "attention": lambda x, e, m: (x @ e.t() / 3).softmax(-1) @ x,
    "frozen": lambda x, e, m: x @ m.frozen,
    "detached": lambda x, e, m: x + e.detach().sin(),
    "rows looked up": lambda x, e, m: x + m.w[(e[:, 0] * 3).long() % WIDTH],
    "activation written": lambda x, e, m: (x * 1).mul_(m.b),
    "buffer written": with_buffer,
    "half": lambda x, e, m: (x.bfloat16() * 2).float(),
}
RETURNS: dict[str, Any] = {
    "last": lambda x, values: values[-1],
    "two": lambda x, values: (values[-1], values[len(values) // 2]),
    "twice": lambda x, values: (values[-1], values[-1]),
    "views": lambda x, values: (values[-1][:, 1:], values[-1].t(), values[-1].sum()),
    "input too": lambda x, values: (x, values[-1], x.shape[0]),
    "ints": lambda x, values: (values[-1], values[-1].argmax(1)),
}


class Net(torch.nn.Module):
    def __init__(self, ops: list[tuple[str, int]], returns: str) -> None:
        super().__init__()
        self.ops, self.returns = ops, returns
        self.w = torch.nn.Parameter(torch.randn(WIDTH, WIDTH) / 3)
        self.b = torch.nn.Parameter(torch.rand(WIDTH) + 0.5)
        self.frozen = torch.nn.Parameter(torch.randn(WIDTH, WIDTH) / 3, requires_grad=False)
        self.register_buffer("seen", torch.zeros(WIDTH))

    def forward(self, x: torch.Tensor) -> Any:
        values = [x * self.b]
        for name, back in self.ops:
            values.append(OPS[name](values[-1], values[max(0, len(values) - 1 - back)], self))
        return RETURNS[self.returns](x, values)


@dataclass
class Action:
    """``what`` with the ``which``-th of the sizes or of the forwards that wait for their backward."""

    what: str
    which: int

    def __repr__(self) -> str:
        return f"{self.what} {self.which}"


ACTIONS = (
    ["forward"] * 4 + ["backward"] * 4 + ["drop", "step", "zero", "evaluate", "move", "offloaded", "forget"]
)
actions = st.builds(Action, st.sampled_from(ACTIONS), st.integers(0, 3))
ops = st.lists(st.tuples(st.sampled_from(sorted(OPS)), st.integers(0, 4)), min_size=1, max_size=6)
orders = st.lists(actions, min_size=4, max_size=16)


class Run:
    """Does the actions with both, and compares."""

    def __init__(self, twins: Twins, sizes: list[int], inputs_require: bool) -> None:
        self.twins, self.sizes, self.inputs_require = twins, sizes, inputs_require
        self.waiting: list[list[torch.Tensor]] = []
        self.steps = twins.optimizers(lambda ps: torch.optim.SGD([p for p in ps if p.requires_grad], lr=0.01))

    def do(self, action: Action) -> None:
        getattr(self, action.what)(action.which)

    def forward(self, which: int, hooks: Any = nullcontext) -> None:
        x = torch.randn(self.sizes[which % len(self.sizes)], WIDTH, requires_grad=self.inputs_require)
        with hooks():
            self.waiting.append(self.twins.step(x, backward=False))

    def offloaded(self, which: int) -> None:
        self.forward(which, torch.autograd.graph.save_on_cpu)

    def backward(self, which: int) -> None:
        if self.waiting:
            for loss in self.waiting.pop(which % len(self.waiting)):
                loss.backward()
            self.twins.compare()

    def drop(self, which: int) -> None:
        if self.waiting:
            self.waiting.pop(which % len(self.waiting))

    def step(self, which: int) -> None:
        """Eager refuses the backwards of what was forwarded before."""
        self.waiting.clear()
        for each in self.steps:
            each.step()
        self.twins.compare()

    def zero(self, which: int) -> None:
        for each in self.steps:
            each.zero_grad(set_to_none=which % 2 == 0)

    def evaluate(self, which: int) -> None:
        with torch.no_grad():
            x = torch.randn(self.sizes[which % len(self.sizes)], WIDTH)
            mine, theirs = copied([x, x])
            same(self.twins.model(mine), self.twins.twin(theirs), "evaluation")

    def move(self, which: int) -> None:
        self.waiting.clear()
        value = torch.randn(WIDTH, WIDTH) / 3
        for net in (self.twins.net, self.twins.twin):
            net.w.data = value.clone()

    def forget(self, which: int) -> None:
        self.twins.still_same()
        self.twins.held.clear()


def trained(
    ops: list[tuple[str, int]],
    returns: str,
    order: list[Action],
    warm: bool,
    inputs_require: bool,
    donated: bool,
) -> None:
    torch._dynamo.reset()
    torch.manual_seed(len(ops))

    def graphed(net: Any, ladder: Any, dims: Any, **options: Any) -> Any:
        model = bucketed(net, ladder, dims, inner="aot_eager", cuda_graphs=True, **options)
        return model, give_recorder(model.backend)

    sizes = [4, 6]
    with functorch.patch(donated_buffer=donated):
        twins = Twins(graphed, Net(ops, returns), ROWS, BucketLadder.pins(sizes))
        if warm:
            twins.model.warm_up(torch.randn(5, WIDTH, requires_grad=inputs_require))
            twins.compare()
        run = Run(twins, sizes, inputs_require)
        for action in order:
            run.do(action)
        twins.still_same()
    refused = {reason for reason in twins.plainly() if not reason.startswith("backward: its forward was not")}
    assert not refused
    assert all(line.skipped is None for line in twins.lines.values())


NO_LEAF = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
programs = st.tuples(
    ops, st.sampled_from(sorted(RETURNS)), orders, st.booleans(), st.booleans(), st.booleans()
)
some = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None)


@NO_LEAF
@settings(some, max_examples=12)
@given(programs)
def test_trained_in_any_order(program: tuple[Any, ...]) -> None:
    trained(*program)


@NO_LEAF
@pytest.mark.slow
@settings(some, max_examples=150)
@given(programs)
def test_many_trained_in_any_order(program: tuple[Any, ...]) -> None:
    trained(*program)
