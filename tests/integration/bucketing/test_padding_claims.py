"""What is not behind real rows, or not what it seems, is not taken for padding that does not count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch.nn.functional as F
from padding_setup import Function, assert_refused, ids, rows

from compilescope.bucketing import Pad

WRONG: dict[str, tuple[Function, Callable[[int], list[Any]], list[Pad], str]] = {
    "all but the last, summed": (
        lambda x: (x * 1)[:-1].sum(0),
        rows,
        [Pad("x", 0, 0.0)],
        "sum over padded rows needs a mask",
    ),
    "all but the last, cropped and summed": (
        lambda x: F.pad(x, (0, 0, 1, -1)).sum(0),
        rows,
        [Pad("x", 0, 0.0)],
        "sum over padded rows needs a mask",
    ),
    "with ones beside": (
        lambda x: F.pad(x, (1, 1), value=1.0).sum(0),
        rows,
        [Pad("x", 0, 0.0)],
        "sum over padded rows needs a mask",
    ),
    "gated ones": (lambda x: F.glu(x, 1).prod(0), rows, [Pad("x", 0, 1.0)], "prod over padded rows"),
    "order of zeros": (lambda x: x.sort(1)[1].sum(0), rows, [Pad("x", 0, 0.0)], "sum over padded rows"),
    "bits of a number": (lambda x: (~x - 1).sum(0), ids, [Pad("x", 0, 0)], "sum over padded rows"),
    "rounded to what it is compared with": (
        lambda x: (x != 0.1).all(0),
        rows,
        [Pad("x", 0, 0.1)],
        "all over padded rows",
    ),
    "lost in rounding": (
        lambda x: ((x + 1.0) - 1073741824.0 - 1.0).sum(0),
        rows,
        [Pad("x", 0, 1073741824.0)],
        "sum over padded rows",
    ),
    "largest of cubes": (
        lambda x: x.clamp(min=-2.0).pow(3).amax(0),
        rows,
        [Pad("x", 0, -2.0)],
        "amax over padded rows",
    ),
    "entries at another's largest": (
        lambda x: (x * 2)[(x[1:] * 1).argmax(0)],
        rows,
        [Pad("x", 0, float("-inf"))],
        "looks padded rows up by their number",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_reduction_of_what_only_seems_neutral_is_refused(name: str, check: Any) -> None:
    assert_refused(check, *WRONG[name])
