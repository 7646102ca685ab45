"""What the plan says of two symbols is what the backend does: each size is served by its combination."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from compilescope.bucketing import Pad, bucketed
from compilescope.ladder.planner import Costs, JointLadder, LadderPlan, Limits, Traffic, plan_product
from compilescope.ladder.planner.emit import ladder_code

NAMES = ("batch", "length")
CALLS = [[1, 60], [1, 31], [2, 40], [3, 20], [4, 9], [8, 1], [6, 1], [16, 1], [11, 2], [5, 5]]


def planned(combinations: int) -> LadderPlan:
    draw = np.random.default_rng(0)
    calls = [CALLS[at] for at in draw.integers(0, len(CALLS), 200)] + CALLS
    return plan_product(Traffic.of(calls, names=NAMES), Costs.assumed(2), Limits(max_rungs=combinations))


class Rows(torch.nn.Module):
    """Row by row, so that padding changes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x))


@pytest.mark.parametrize("combinations", [3, 6])
def test_each_size_is_served_by_the_combination_that_the_plan_says(combinations: int) -> None:
    plan = planned(combinations)
    ladder = plan.chosen.ladder
    assert isinstance(ladder, JointLadder)
    assert ladder.form == "set"
    names: dict[str, object] = {}
    exec(ladder_code(plan), names)
    torch.manual_seed(0)
    model = Rows()
    served = bucketed(
        model,
        names["ladder"],  # type: ignore[arg-type]
        {"x": dict(enumerate(NAMES))},
        pad=[Pad("x", 0), Pad("x", 1)],
        inner="eager",
    )
    served.warm_up(torch.zeros(4, 5, 3), grad=False, progress=False)
    asked = {(int(a), int(b)) for a, b in np.random.default_rng(1).integers(1, [17, 61], (60, 2))}
    for size in sorted(asked | {(a, b) for a, b in CALLS}):
        wanted = ladder.padded_to(size)
        assert wanted is not None
        given = tuple(2 if n == 1 and m > 1 else n for n, m in zip(size, wanted, strict=True))
        before = counts(served)
        x = torch.randn(*given, 3)
        with torch.no_grad():
            torch.testing.assert_close(served(x), model(x))
        (label,) = [label for label, count in counts(served).items() if count != before.get(label, 0)]
        assert label == f"batch=<={wanted[0]}, length=<={wanted[1]}", size


def counts(served: object) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in served.backend.dispatch_counts():  # type: ignore[attr-defined]
        found[each.rung] = found.get(each.rung, 0) + each.count
    return found


def test_a_size_of_1_has_its_combination_though_a_smaller_one_holds_it() -> None:
    """Among the sizes above: torch makes the 1 a constant, and only a combination with that 1 serves it."""
    ladder = planned(6).chosen.ladder
    assert isinstance(ladder, JointLadder)
    assert (5, 9) in ladder.combinations
    assert ladder.padded_to((1, 9)) == (1, 60)
