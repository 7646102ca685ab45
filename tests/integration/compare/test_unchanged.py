"""A program that did not change differs in nothing, however often it is recorded."""

from __future__ import annotations

import json

import pytest

PROGRAM = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(16, 32)
        self.down = torch.nn.Linear(32, 4)
        self.calls = 0

    def forward(self, x):
        h = torch.relu(self.up(x))
        self.calls += 1
        if self.calls == 3:
            print("third call")
        return self.down(h) * self.calls


torch.manual_seed(0)
net = torch.compile(Net(), backend="aot_eager")
for n in (8, 8, 12, 5, 7, 7):
    net(torch.randn(n, 16)).sum().backward()
"""


def difference(command, base, head):
    done = command("diff", base, head, "--exit-code", "--format", "json")
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def test_recorded_twice_and_with_lines_above(command, record):
    base = record(PROGRAM, "base")
    again = difference(command, base, record(PROGRAM, "again"))
    assert again["differs"] is False
    known = again["findings"]["same"]
    assert known >= 2
    moved = difference(command, base, record("# one\n\n# two\n" + PROGRAM, "moved"))
    assert moved["differs"] is False
    assert moved["findings"]["same"] == known


def test_what_was_changed_is_told(command, record):
    base = record(PROGRAM, "base")
    head = record(PROGRAM.replace("self.calls += 1", "self.calls = 1"), "head")
    diff = difference(command, base, head)
    assert diff["direction"] == "better"
    gone = {row["rule"] for row in diff["findings"]["gone"]}
    assert gone == {"module_int_attribute", "print_in_compiled_region"}
    assert [(row["change"], row["place"]["function"]) for row in diff["functions"]] == [
        ("merged", "Net.forward")
    ]


@pytest.mark.slow
def test_ten_recordings_differ_in_nothing(command, record):
    base = record(PROGRAM, "r0")
    for n in range(1, 10):
        diff = difference(command, base, record(PROGRAM, f"r{n}"))
        assert diff["differs"] is False, (n, diff["verdict"])
