"""Custom operators checked with the arguments a real program gave them."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from compilescope.cli.advise import command as advise

OPERATORS = """
import torch

@torch.library.custom_op("lab::hidden", mutates_args=())
def hidden(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return x.clone()

@torch.library.custom_op("lab::declared", mutates_args={"x"})
def declared(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return x.clone()

@torch.library.custom_op("lab::plain", mutates_args=())
def plain(x: torch.Tensor) -> torch.Tensor:
    return x * 2

@torch.library.custom_op("lab::no_fake", mutates_args=())
def no_fake(x: torch.Tensor) -> torch.Tensor:
    return x * 2

@torch.library.custom_op("lab::wrong_fake", mutates_args=())
def wrong_fake(x: torch.Tensor) -> torch.Tensor:
    return x.sum(0)

for op in (hidden, declared, plain, wrong_fake):
    op.register_fake(torch.empty_like)

class Triple(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, grad):
        return grad * 3

lib = torch.library.Library("byhand", "FRAGMENT")
lib.define("alias(Tensor x) -> Tensor")
lib.impl("alias", lambda x: x.view(-1), "CPU")
lib.impl("alias", lambda x: x.new_empty(x.numel()), "Meta")
lib.define("triple(Tensor x) -> Tensor")
lib.impl("triple", lambda x: Triple.apply(x), "CPU")
lib.impl("triple", lambda x: torch.empty_like(x), "Meta")

@torch.compile(backend="aot_eager")
def f(x):
    return plain(hidden(x)).sin() + torch.ops.lab.declared(x)

f(torch.ones(3))
f(torch.ones(3))
torch.ops.lab.no_fake(torch.ones(2))
wrong_fake(torch.ones(2, 3))
torch.ops.byhand.alias(torch.ones(2, 3))
torch.ops.byhand.triple(torch.ones(2, requires_grad=True)).sum().backward()
print("x is", f(torch.ones(3)).sum())
"""
FOUND = {
    ("lab::hidden", "custom_op_schema_hides_mutation", "train.py:4"),
    ("lab::no_fake", "custom_op_missing_fake", "train.py:18"),
    ("lab::wrong_fake", "custom_op_fake_differs", "train.py:22"),
    ("byhand::alias", "custom_op_schema_hides_aliasing", "train.py:54"),
    ("byhand::triple", "custom_op_autograd_unregistered", "train.py:55"),
}


@pytest.fixture
def checked(recorded, verify):
    recording = recorded(OPERATORS)
    return recording, *verify(str(recording), "--check-ops")


def test_what_schemas_hide_becomes_a_finding(checked):
    recording, status, told = checked
    assert status == 1
    found = {(f["identity"].split("|")[-1], f["rule"], f"{f['file']}:{f['line']}") for f in told["findings"]}
    assert found == FOUND
    calls = {op["op"]: op["calls"] for op in told["ops"]}
    assert calls["lab::hidden"] == calls["lab::plain"] == calls["lab::declared"] == 3
    passed = {op["op"] for op in told["ops"] if set(op["results"].values()) == {"SUCCESS"}}
    assert passed == {"lab::declared", "lab::plain"}
    # The recording of the program has them from now on.
    shown = CliRunner().invoke(advise, [str(recording), "--format", "json"], standalone_mode=False).stdout
    assert {rule for _, rule, _ in FOUND} <= {finding["rule"] for finding in json.loads(shown)}


def test_a_program_without_custom_operators_says_so(recorded, verify):
    recording = recorded("import torch\ntorch.compile(torch.sin, backend='eager')(torch.ones(2))\n")
    status, told = verify(str(recording), "--check-ops")
    assert (status, told["ops"], told["findings"]) == (0, [], [])
    assert told["notes"] == ["the program called no custom operator from Python, or left without an exit"]
