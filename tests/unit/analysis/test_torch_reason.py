"""Torch's one-line reasons: every form it writes, read into a change of ours."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.analysis.attempts import newest_reason
from compilescope.analysis.guard_changes import from_reason
from compilescope.analysis.torch_reason import entry_of, message_of

CPU = "DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU)"
META = "DispatchKeySet(Meta, BackendSelect, ADInplaceOrView, AutogradMeta)"


def _found(message: str, **state: Any) -> list[tuple[str, str, Any, Any]]:
    return [(c.kind, c.source, c.old, c.new) for c in from_reason(message, state, frozenset())]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "tensor 'args[0]' size mismatch at index 0. expected 16, actual 2",
            ("size", "args[0] dim 0", 16, 2),
        ),
        ("tensor 'x' size mismatch at index 1. expected 5, actual 1", ("size_one", "x dim 1", 5, 1)),
        (
            "tensor 'x' stride mismatch at index 1. expected 256, actual 1",
            ("stride", "x stride dim 1", 256, 1),
        ),
        ("tensor 'x' rank mismatch. expected 2, actual 1", ("rank", "x", 2, 1)),
        ("tensor 'x' dtype mismatch. expected Float, actual BFloat16", ("dtype", "x", "float32", "bfloat16")),
        (
            f"tensor 'x' dispatch key set mismatch. expected {CPU}, actual {META}",
            ("device", "x", "cpu", "meta"),
        ),
        ("tensor 'x' requires_grad mismatch. expected requires_grad=0", ("requires_grad", "x", False, True)),
        (
            "tensor 'self._parameters['bias']' size mismatch at index 0. expected 16, actual 4. Guard failed "
            "on a parameter, consider using torch._dynamo.config.force_parameter_static_shapes = False",
            ("size", "self.bias dim 0", 16, 4),
        ),
        (
            "expected type of 'm' to be a tensor type, ' but found <class 'NoneType'>",
            ("value", "m", "Tensor", None),
        ),
        (
            "expected type of 'x' to be a tensor type, ' but found <class 'torch.nn.parameter.Parameter'>",
            ("type", "x", "Tensor", "Parameter"),
        ),
        (
            "not history   # for h in history:  # a/b.py:8 in attend",
            ("container_length", "len(history)", 0, None),
        ),
        ("len(stats) != 1", ("container_length", "len(stats)", 1, None)),
        ("self.calls == 3   # self.calls += 1  # a/b.py:13 in forward", ("value", "self.calls", 3, None)),
        ("s.flag == True   # if s.flag:  # a/b.py:13 in forward", ("value", "s.flag", True, False)),
        (
            "fn._modules['1'].training == True  # x  # a.py:1 in f",
            ("training_mode", "fn[1].training", True, False),
        ),
        (
            "cfg.lr > 0.05  # if cfg.lr > 0.05:  # a/b.py:15 in f",
            ("symbolic_guard", "cfg.lr", "cfg.lr > 0.05", "cfg.lr <= 0.05"),
        ),
        (
            "x.size()[0] == y.size()[0]  # x + y  # a/b.py:15 in f",
            ("duck_shape", "x dim 0 and y dim 0", "x dim 0 == y dim 0", "x dim 0 != y dim 0"),
        ),
        (
            "list(dict.keys(d))[0] == 'a'   # for k in d:  # a.py:3 in f",
            ("dict_keys", "keys of d", "a", None),
        ),
        ("TYPE_MISMATCH(d)", ("type", "d", None, None)),
        (
            'Duplicate tensors found: ["x", "y"]',
            ("identity", "x and y", "different tensors", "the same tensor"),
        ),
        (
            "BACKEND_MATCH failure: torch.compile detected different backend callables. Cached backend: "
            "_TorchCompileWrapper(compiler='eager', dynamic=None) (id=0x7f08). New backend: "
            "_TorchCompileWrapper(compiler='aot_eager', dynamic=None) (id=0x7f09). If this is unexpected",
            ("backend", "backend of torch.compile", "eager, dynamic=None", "aot_eager, dynamic=None"),
        ),
        (
            "Cache line invalidated because L['___stack0'] got deallocated",
            ("identity", "___stack0", "one object", "another: the first was freed"),
        ),
        (
            "Unexpected recompilation: runtime guards failed even though they passed during "
            "recompilation-reason analysis. Please open an issue with a minimal repro: https://github.com/x",
            ("none_failed", "no guard", None, None),
        ),
        ("Words of a torch to come", ("unknown", "Words of a torch to come", None, None)),
    ],
)
def test_messages(message: str, expected: tuple[str, str, Any, Any]) -> None:
    assert _found(message) == [expected]


def test_global_state_has_a_change_per_word_and_takes_values_from_the_modes() -> None:
    message = "GLOBAL_STATE changed: grad_mode autocast(cpu)_enabled "
    assert _found(message, grad_mode=False, autocast_cpu=True) == [
        ("grad_mode", "grad mode", True, False),
        ("autocast", "autocast(cpu) enabled", False, True),
    ]


def test_the_entry_is_taken_off_with_and_without_a_compiled_autograd_id() -> None:
    assert (entry_of("0/12: n == 2"), message_of("0/12: n == 2")) == ("0/12", "n == 2")
    assert entry_of("!1/3/0: n == 2") == "!1/3/0"
    assert (entry_of("n == 2"), message_of("n == 2")) == (None, "n == 2")


def test_reasons_are_in_order_of_use_and_the_newest_entry_is_picked() -> None:
    assert newest_reason(["0/0: a == 1", "0/10: b == 1", "0/9: c == 1"]) == "0/10: b == 1"
    assert newest_reason([]) is None


@given(st.text(max_size=200))
def test_any_message_is_read(message: str) -> None:
    for change in from_reason(message, {}, frozenset()):
        assert change.source
