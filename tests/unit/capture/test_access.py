"""Reading what a guard looks at: the same object Python's own evaluation of the source would give."""

from __future__ import annotations

import collections
import enum
from typing import Any

import pytest
import torch

from compilescope.capture._access import length, read
from compilescope.capture._inert import UnreadableError
from compilescope.capture._telling import told


class _Slotted:
    __slots__ = ("kept", "unset")

    def __init__(self) -> None:
        self.kept = 7


class _Plain:
    shared = "on the class"

    def __init__(self) -> None:
        self.own = 1
        self.items = [10, {"key": (1, 2)}]


class _Color(enum.Enum):
    RED = 1


def _closure() -> Any:
    captured = 41
    return lambda: captured


def _defaults(step: int = 3, *, scale: float = 0.5) -> None: ...


_MODULE = torch.nn.Sequential(torch.nn.Linear(2, 3))
_SCOPE: dict[str, Any] = {
    "plain": _Plain(),
    "slotted": _Slotted(),
    "module": _MODULE,
    "closure": _closure(),
    "defaults": _defaults,
    "method": _Plain().__init__,  # type: ignore[misc]
    "kind": _Plain,
    "torch": torch,
    "ordered": collections.OrderedDict(x=[1, 2, 3]),
    "x": torch.ones(2, 5),
}


@pytest.mark.parametrize(
    "source",
    [
        "L['plain'].own",
        "L['plain'].shared",
        "L['plain'].items[1]['key'][0]",
        "L['plain'].items[-1]",
        "L['plain'].__dict__['own']",
        "L['slotted'].kept",
        "L['module']._modules['0']._parameters['weight']",
        "L['module']._modules['0'].weight",
        "L['module']._modules['0'].in_features",
        "L['module'].training",
        "L['closure'].__closure__[0].cell_contents",
        "L['defaults'].__defaults__[0]",
        "L['defaults'].__kwdefaults__['scale']",
        "L['defaults'].__code__",
        "L['method'].__func__",
        "L['kind'].shared",
        "L['torch'].float32",
        "type(L['plain']).__dict__['shared']",
        "type(L['plain']).__mro__[0].__dict__['shared']",
        "L['ordered']['x'][2]",
        "G['STEP']",
    ],
)
def test_reads_the_very_object_that_python_would(source: str) -> None:
    global_ = {"STEP": object()}
    assert read(source, _SCOPE, global_) is eval(source, {"L": _SCOPE, "G": global_})


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("len(L['plain'].items)", 2),
        ("type(L['plain'])", _Plain),
        ("list(dict.keys(L['ordered']))[0]", "x"),
        ("L['x'].size()[1]", 5),
        ("L['x'].stride()[0]", 5),
    ],
)
def test_reads_the_calls_torch_writes_into_sources(source: str, value: Any) -> None:
    assert read(source, _SCOPE, {}) == value


@pytest.mark.parametrize(
    "source",
    [
        "",
        "L[",
        "L['missing']",
        "L['plain'].missing",
        "L['slotted'].unset",
        "L['plain'].items[9]",
        "L['plain'].items['a']",
        "L['ordered'][[]]",
        "L['ordered'][unknown]",
        "L['x'] + 1",
        "lambda: 0",
        "open('/etc/hostname')",
        "__import__('os')",
        "len(L['plain'])",
        "L['x'].item()",
        "L['x'].sum().size()",
        "(" * 500 + ")" * 500,
        "L\0",
    ],
)
def test_what_cannot_be_read_is_said_to_be(source: str) -> None:
    with pytest.raises(UnreadableError):
        read(source, _SCOPE, {})


def test_a_class_attribute_wins_over_a_table_that_only_modules_have() -> None:
    class Looks:
        x = 3

        def __init__(self) -> None:
            self._parameters = {"x": 1, "y": 2}

    assert read("L['it'].x", {"it": Looks()}, {}) == 3
    with pytest.raises(UnreadableError):
        read("L['it'].y", {"it": Looks()}, {})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, {"t": "none", "v": None}),
        (True, {"t": "bool", "v": True}),
        (3, {"t": "int", "v": 3}),
        (0.5, {"t": "float", "v": 0.5}),
        ("a" * 100, {"t": "str", "v": "a" * 80, "len": 100}),
        ("\ud800", {"t": "str", "v": "\ud800"}),
        (torch.float16, {"t": "dtype", "v": "torch.float16"}),
        (torch.device("meta"), {"t": "device", "v": "meta"}),
        (torch.Size([1, 2]), {"t": "size", "v": [1, 2]}),
        ([1, 2], {"t": "list", "v": "builtins.list", "len": 2}),
        ({"a": 1, 2: 3, (4,): 5}, {"t": "dict", "v": "builtins.dict", "len": 3, "keys": ["a", 2]}),
        (_Color.RED, {"t": "enum", "v": "_Color.RED"}),
    ],
)
def test_values_as_the_recording_tells_them(value: Any, expected: dict[str, Any]) -> None:
    assert told(value) == expected


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**5000], ids=["65 bits", "negative", "5000 digits"])
def test_integers_of_any_size_are_told(value: int) -> None:
    said = told(value)
    assert said["t"] == "int"
    assert len(str(said["v"])) <= 80


@pytest.mark.parametrize("text", ["nan", "inf", "-inf"])
def test_what_json_has_no_number_for_is_told_as_text(text: str) -> None:
    assert told(float(text)) == {"t": "float", "v": text}


def test_a_function_is_told_with_its_place() -> None:
    said = told(_defaults)
    assert said["name"] == "_defaults"
    assert said["at"] == [__file__, _defaults.__code__.co_firstlineno]


def test_a_tensor_is_told_by_its_layout_alone() -> None:
    said = told(torch.empty(2, 3, device="meta", dtype=torch.bfloat16))
    assert said["t"] == "tensor"
    assert said["v"] | {"keys": ""} == {
        "size": [2, 3],
        "stride": [3, 1],
        "dtype": "bfloat16",
        "device": "meta",
        "requires_grad": False,
        "type": "Tensor",
        "keys": "",
    }


def test_a_sparse_tensor_has_no_stride() -> None:
    assert "stride" not in told(torch.eye(2).to_sparse())["v"]


def test_the_length_is_the_containers_own() -> None:
    class Lies(list[int]):
        def __len__(self) -> int:
            return 99

    assert length(Lies([1, 2])) == 2
    with pytest.raises(UnreadableError):
        length(iter([]))
