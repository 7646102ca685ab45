"""Arguments that mean nothing are an error at once, which says what to write."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from compilescope import BucketLadder, bucketed
from compilescope.bucketing import Pad
from compilescope.errors import UsageError

PINS, PADS = BucketLadder.pins([8]), BucketLadder.pads([8])
ONE = {"input": {0: "tokens"}}
TWO = {"input": {0: "tokens", 1: "width"}}


@pytest.mark.parametrize(
    ("ladder", "dims", "options", "message"),
    [
        ({"tokens": PINS, "width": PINS}, TWO, {"only": []}, "only=[] leaves no combination"),
        ({"tokens": [8, 16]}, ONE, {}, "the ladder of 'tokens' is [8, 16]"),
        ([8, 16], ONE, {}, "the ladder is [8, 16]"),
        (PINS, {}, {}, "dims names no dimension"),
        (PINS, {"input": {0: None}}, {}, "dims names no dimension"),
        ({"tokens": PINS}, {"input": {0: "token", 1: "tokens"}}, {}, "Did you mean 'tokens'?"),
        (PINS, ONE, {"inner": 3}, "inner=3 is neither the name of a compiler nor a callable"),
        (PINS, ONE, {"inner": "inducter"}, "no compiler that torch knows"),
        (PADS, ONE, {"pad": Pad("input", 0)}, "pad is a list of contracts, not one"),
        (PADS, ONE, {"pad": ["input"]}, "pad has 'input'"),
        (PADS, ONE, {"pad": [Pad("input", 0, 0), Pad("input", 0, 1)]}, "'input' has two contracts"),
    ],
)
def test_what_is_wrong_and_what_to_write(ladder: Any, dims: Any, options: Any, message: str) -> None:
    with pytest.raises(UsageError) as error:
        bucketed(torch.nn.Linear(4, 4), ladder, dims, **options)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "message"), [("fallbak", "did you mean 'fallback'"), ("zzz", "there are inner, mode, options")]
)
def test_an_option_that_is_none(name: str, message: str) -> None:
    with pytest.raises(TypeError, match=f"there is no option '{name}': {message}"):
        bucketed(torch.nn.Linear(4, 4), PINS, ONE, **{name: 1})


def test_a_dimension_without_a_ladder_is_none() -> None:
    model = bucketed(
        torch.nn.Linear(4, 4), {"tokens": PINS}, {"input": {0: "tokens", 1: None}}, inner="eager"
    )
    assert model(torch.ones(8, 4)).shape == (8, 4)
