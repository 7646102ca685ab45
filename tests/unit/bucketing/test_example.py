"""Which tensor of a call a name stands for, and copies of a call at other sizes."""

from __future__ import annotations

import dataclasses
import inspect
from collections import UserDict, namedtuple
from collections.abc import Callable
from typing import Any

import pytest
import torch

from compilescope.bucketing.example import Example, named_tensors, signature_of
from compilescope.bucketing.identify import ARGUMENT, TAG
from compilescope.errors import UsageError

Pair = namedtuple("Pair", "first second")


@dataclasses.dataclass(frozen=True)
class Batch:
    ids: torch.Tensor
    note: str = "kept"


def plain(x: Any, y: Any = None) -> None: ...
def by_keyword(**given: Any) -> None: ...
def by_position(scale: float, *xs: Any) -> None: ...


def tokens() -> torch.Tensor:
    return torch.arange(6).view(2, 3)


CALLS: dict[str, tuple[Callable[..., None], str, tuple[Any, ...], dict[str, Any]]] = {
    "by position": (plain, "y", (1, tokens()), {}),
    "by name": (plain, "y", (1,), {"y": tokens()}),
    "any name": (by_keyword, "ids", (), {"ids": tokens()}),
    "any name, as torch calls it": (by_keyword, "given['ids']", (), {"ids": tokens()}),
    "any position": (by_position, "xs[1]", (0.5, 3, tokens()), {}),
    "in a dict": (plain, "x['ids']", ({"ids": tokens()},), {}),
    "in a list": (plain, "x[1]", ([1, tokens()],), {}),
    "in a tuple in a dict": (plain, 'x["pair"][0]', ({"pair": (tokens(), 1)},), {}),
    "in a named tuple": (plain, "x.second", (Pair(1, tokens()),), {}),
    "in a dataclass": (plain, "x.ids", (Batch(tokens()),), {}),
    "in a mapping of another kind": (plain, "x['ids']", (UserDict(ids=tokens()),), {}),
}


@pytest.mark.parametrize("case", CALLS)
def test_the_named_tensor_is_found_marked_and_resized(case: str) -> None:
    function, name, arguments, by_name = CALLS[case]
    (named,) = named_tensors(inspect.signature(function), {name: {1: "n"}})
    named.mark(arguments, by_name)
    given = named.find(arguments, by_name)
    assert (getattr(given, TAG), getattr(given, ARGUMENT)) == ({1: "n"}, name)
    example = Example((named,), arguments, by_name)
    assert example.sizes() == {"n": 3}
    copied, copied_by_name = example.resized({"n": 5})
    assert copied_by_name.keys() == by_name.keys()
    assert [type(each) for each in copied] == [type(each) for each in arguments]
    found = named.find(copied, copied_by_name)
    assert found.tolist() == [[0, 1, 2, 0, 1], [3, 4, 5, 3, 4]]
    assert named.find(arguments, by_name) is given
    assert given.shape == (2, 3)


def test_a_copy_leaves_what_the_call_writes_out_of_the_example() -> None:
    cache = [torch.zeros(2), {"step": torch.zeros(1)}]
    weight = torch.nn.Parameter(torch.ones(1))
    (copied, same), _ = Example((), (cache, weight), {}).resized({})
    copied[0].add_(1)
    copied[1]["step"].add_(1)
    assert (cache[0].sum(), cache[1]["step"].item()) == (0, 0)
    assert same is weight


def test_a_call_without_the_named_tensor_has_no_size() -> None:
    for name, arguments in (("x", ()), ("x['ids']", ({},)), ("x[3]", ([],)), ("x.ids", (None,))):
        (named,) = named_tensors(inspect.signature(plain), {name: {0: "n"}})
        named.mark(arguments, {})
        assert Example((named,), arguments, {}).sizes() == {}


@pytest.mark.parametrize("name", ["z", "z['x']", "x[", "x ids", "x[a]", "['x']", ""])
def test_a_name_that_cannot_be_meant(name: str) -> None:
    with pytest.raises(UsageError, match="dims names"):
        named_tensors(inspect.signature(plain), {name: {0: "n"}})


def test_sizes_that_stand_in_for_zero_and_one_differ() -> None:
    named = named_tensors(inspect.signature(plain), {"x": {0: "a", 1: "b"}, "y": {0: "c"}})
    assert Example(named, (torch.zeros(0, 1),), {"y": torch.zeros(7)}).sizes() == {"a": 7, "b": 8, "c": 9}


class Wrapper(torch.nn.Module):
    """As DDP is."""

    def __init__(self) -> None:
        super().__init__()
        self.module = torch.nn.Linear(2, 2)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


@pytest.mark.parametrize(
    ("name", "first"), [("inputs", "inputs"), ("inputs[0]", "inputs"), ("input", "input")]
)
def test_a_wrapper_has_its_own_names_and_those_of_what_it_wraps(name: str, first: str) -> None:
    assert next(iter(signature_of(Wrapper(), {name: {0: "n"}}).parameters)) == first
