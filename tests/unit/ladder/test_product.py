from __future__ import annotations

from typing import Any

import pytest

from compilescope.ladder import BucketLadder, LadderError, LadderProduct

BATCH = BucketLadder.pins([2, 4])
TOKENS = BucketLadder.pins([16, 32]) | BucketLadder.range(40, 64)


def labels(rungs: Any) -> list[str]:
    return [rung.label for rung in rungs]


def test_pins_are_crossed_and_ranges_stand_by_themselves() -> None:
    product = LadderProduct.of({"batch": BATCH, "tokens": TOKENS})
    assert labels(product.exact()) == [f"batch={b}, tokens={t}" for b in (2, 4) for t in (16, 32)]
    assert labels(product.ranges()) == ["40..64@50"]


def test_one_ladder_keeps_its_rungs_labels() -> None:
    product = LadderProduct.of({"tokens": TOKENS})
    assert labels(product.exact()) == ["16", "32"]


def test_listed_combinations_those_that_fix_most_first() -> None:
    only = [{"tokens": 16}, {"tokens": 32, "batch": 4}]
    product = LadderProduct.of({"batch": BATCH, "tokens": TOKENS}, only)
    assert labels(product.exact()) == ["batch=4, tokens=32", "16"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({},), "no symbol has a ladder"),
        (({"tokens": TOKENS}, None, 2), "3 rungs exceed the budget of 2"),
        (({"tokens": TOKENS}, [{"tokens": 17}]), "17 is not a pin of the ladder of 'tokens'"),
        (({"tokens": TOKENS}, [{"rows": 16}]), "names 'rows', which has no ladder"),
        (({"tokens": TOKENS}, [{"tokens": 16}, {"tokens": 16}]), "more than once"),
        (({"tokens": TOKENS}, [{}]), "fixes nothing"),
    ],
)
def test_a_product_that_cannot_be_meant(arguments: Any, message: str) -> None:
    with pytest.raises(LadderError, match=message):
        LadderProduct.of(*arguments)


def test_pads_are_crossed_with_pins_and_stand_smallest_first() -> None:
    padded = BucketLadder.pads([8, 4])
    product = LadderProduct.of({"batch": BATCH, "tokens": padded})
    assert labels(product.exact()) == []
    assert labels(product.pads()) == [
        "batch=2, tokens=<=4",
        "batch=2, tokens=<=8",
        "batch=4, tokens=<=4",
        "batch=4, tokens=<=8",
    ]
    listed = LadderProduct.of({"batch": BATCH, "tokens": padded}, [{"batch": 2, "tokens": 8}])
    assert labels(listed.pads()) == ["batch=2, tokens=<=8"]
    with pytest.raises(LadderError, match="4 rungs exceed the budget of 3"):
        LadderProduct.of({"batch": BATCH, "tokens": padded}, budget=3)
