from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.errors import UsageError
from compilescope.ladder import BucketLadder, LadderError, Pad, Pin, Range

pins = st.sets(st.integers(1, 500), max_size=6).map(BucketLadder.pins)
spans = st.tuples(st.integers(1, 400), st.integers(10, 100)).map(
    lambda t: BucketLadder.range(t[0], t[0] + t[1])
)


@st.composite
def ladders(draw: st.DrawFn) -> BucketLadder:
    ladder = draw(pins)
    return ladder | draw(spans) if draw(st.booleans()) else ladder


def test_the_text_of_a_ladder_is_what_makes_it() -> None:
    ladder = BucketLadder.pins([512, 256, 1024]) | BucketLadder.range(1, 8192, hint=600)
    text = "BucketLadder.pins([256, 512, 1024]) | BucketLadder.range(1, 8192, hint=600)"
    assert repr(ladder) == text
    assert repr(ladder.within(1, 9000)) == f"({text}).within(1, 9000)"
    assert repr(BucketLadder()) == "BucketLadder()"


@given(ladders())
def test_a_ladder_is_its_repr(ladder: BucketLadder) -> None:
    assert eval(repr(ladder)) == ladder
    bounded = ladder.within(1, 1000)
    assert eval(repr(bounded)) == bounded


@given(pins, pins)
def test_union_is_a_set_union(left: BucketLadder, right: BucketLadder) -> None:
    assert left | right == right | left
    assert (left | right) | right == left | right
    assert left | left == left
    assert {rung.label for rung in left | right} == {r.label for r in left} | {r.label for r in right}


@given(ladders(), st.integers(1, 600))
def test_a_rung_serves_what_it_can_and_a_pin_comes_first(ladder: BucketLadder, size: int) -> None:
    rung = ladder.serving(size)
    if rung is None:
        assert all(not r.low <= size <= r.high for r in ladder)
    else:
        assert rung.low <= size <= rung.high
        assert rung.low <= rung.tuned_at <= rung.high
        assert isinstance(rung, Pin) == any(r.size == size for r in ladder.pin_rungs)


def test_the_smallest_pad_that_holds_a_size_serves_it() -> None:
    ladder = BucketLadder.pads([64, 256]) | BucketLadder.pins([100]) | BucketLadder.range(1, 512)
    assert ladder.serving(10) == Pad(64)
    assert ladder.serving(65) == Pad(256)
    assert ladder.serving(100) == Pin(100)
    assert ladder.serving(257) == Range(1, 512)
    assert ladder.serving(513) is None


def test_equal_ladders_are_equal_and_hash_alike_whatever_their_order() -> None:
    left = BucketLadder.pins([32, 16]) | BucketLadder.range(1, 64)
    right = BucketLadder.range(1, 64) | BucketLadder.pins([16, 32])
    assert left == right
    assert hash(left) == hash(right)


def test_a_ladder_is_frozen() -> None:
    ladder = BucketLadder.pins([16])
    with pytest.raises(dataclasses.FrozenInstanceError):
        ladder.rungs = ()  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        ladder.rungs[0].size = 3  # type: ignore[misc, union-attr]


def test_a_range_without_a_hint_is_tuned_at_its_geometric_mean() -> None:
    (span,) = BucketLadder.range(16, 4096)
    assert span.tuned_at == 256
    assert span.label == "16..4096@256"


def test_the_typical_size_is_the_median_rung() -> None:
    assert (BucketLadder.pins([8, 64, 512]) | BucketLadder.range(1, 100, hint=9)).typical == 9
    assert BucketLadder().typical is None


def test_numpy_sizes_become_ints() -> None:
    (pin,) = BucketLadder.pins(numpy.array([16]))
    assert type(pin.size) is int


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BucketLadder.pins([16, 16]), "rung 16 is there more than once"),
        (lambda: BucketLadder.pins([0]), "a pin must be at least 1, not 0"),
        (lambda: BucketLadder.pins([-4]), "at least 1"),
        (lambda: BucketLadder.pins([1.5]), "a whole number, not 1.5"),
        (lambda: BucketLadder.pins([True]), "a whole number, not True"),
        (lambda: BucketLadder.pins(["16"]), "a whole number, not '16'"),
        (lambda: BucketLadder.range(9, 8), "range 9..8 is empty"),
        (lambda: BucketLadder.range(1, 8, hint=9), "hint 9 lies outside its range 1..8"),
        (lambda: BucketLadder.range(1, 8, hint=0), "hint 0 lies outside its range 1..8"),
        (lambda: BucketLadder.range(1, 64) | BucketLadder.range(60, 90), "overlap at 60..64"),
        (lambda: BucketLadder.range(1, 64) | BucketLadder.range(1, 64, hint=3), "overlap at 1..64"),
        (lambda: BucketLadder.range(5, 6) | BucketLadder.pins([5, 6]), "can never be reached"),
        (lambda: BucketLadder.range(5, 6) | BucketLadder.pads([8]), "can never be reached"),
        (lambda: BucketLadder.pins([8]) | BucketLadder.pads([8]), "8 is a pin and a pad"),
        (
            lambda: BucketLadder.pins([8, 4096]).within(1, 2048),
            "rung 4096 is above the declared maximum 2048",
        ),
        (lambda: BucketLadder.pins([8]).within(16), "rung 8 is below the declared minimum 16"),
        (lambda: BucketLadder.pads([64, 128]).within(1, 50), "rung <=128 is above the declared maximum 50"),
        (lambda: BucketLadder.pins([8]).within(9, 3), "minimum 9 is above the declared maximum 3"),
        (
            lambda: BucketLadder.pins([8]).within(1, 10) | BucketLadder.pins([9]).within(1, 11),
            "different maximum sizes: 10 and 11",
        ),
    ],
)
def test_a_ladder_that_cannot_be_meant(make: Any, message: str) -> None:
    with pytest.raises(LadderError) as raised:
        make()
    assert message in str(raised.value)
    assert isinstance(raised.value, UsageError)
    assert isinstance(raised.value, ValueError)


def test_a_pad_above_the_maximum_is_fine_when_it_is_the_first_that_holds_it() -> None:
    assert len(BucketLadder.pads([32, 64]).within(1, 50)) == 2


def test_union_with_something_else_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        BucketLadder.pins([16]) | 16  # type: ignore[operator]


def test_importing_ladders_imports_no_torch() -> None:
    code = "import sys, compilescope.ladder, compilescope.observer; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_size_to_pad_to_is_the_smallest_pin_or_pad_that_holds_it() -> None:
    ladder = BucketLadder.pins([8]) | BucketLadder.pads([16]) | BucketLadder.range(17, 64)
    assert [ladder.fitting(size) for size in (1, 8, 9, 16, 17)] == [8, 8, 16, 16, None]
