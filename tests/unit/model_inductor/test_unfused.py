from __future__ import annotations

import json

import pytest

from compilescope.model.inductor.schedule import Schedule, parse_schedule
from compilescope.model.inductor.tensors import Tensor
from compilescope.model.inductor.unfused import reasons, unfused


def _scheduled(*groups: list[tuple[str, list[str], list[str]]]) -> Schedule:
    """Each group: (name, reads, writes) of its parts."""
    rows = [
        {
            "type": "FusedSchedulerNode",
            "ir": "ComputedBuffer",
            "parts": [{"name": n, "reads": r, "writes": w} for n, r, w in group],
            "ops": [[f"n{group[0][0]}", f"aten.{group[0][0]}.default"]],
            "lines": [[1, i, "f"]],
        }
        for i, group in enumerate(groups)
    ]
    return parse_schedule({}, json.dumps(rows), lambda _: "train.py")


SCHEDULE = _scheduled(
    [("op0", ["x"], ["a"]), ("op1", ["a"], ["b"])],
    [("op2", ["b"], ["c"])],
    [("op3", ["x"], ["d"])],
    [("op4", ["z"], ["e"])],
)


def _pairs(*rows: list[str]) -> list[tuple[tuple[str, ...], tuple[str, ...], str, bool]]:
    found = unfused(SCHEDULE, json.dumps(rows))
    return [(u.first, u.second, u.reason, u.linked) for u in found]


def test_pairs_by_what_they_became_with_the_last_reason() -> None:
    found = _pairs(["op1", "op2", "too early"], ["op2", "op0_op1", "numel mismatch"])
    assert found == [(("op0", "op1"), ("op2",), "numel mismatch", True)]


def test_a_pair_that_was_fused_after_all_is_none() -> None:
    assert _pairs(["op0", "op1", "not yet"]) == []


def test_nodes_that_only_read_the_same_are_not_linked_and_come_last() -> None:
    found = _pairs(["op0", "op3", "no shared data"], ["op1", "op2", "numel mismatch"])
    assert [(second, linked) for _, second, _, linked in found] == [(("op2",), True), (("op3",), False)]


def test_nodes_without_a_common_buffer_are_none() -> None:
    assert _pairs(["op3", "op4", "no shared data"], ["op9", "op4", "unknown"]) == []


def test_operators_and_lines_of_both() -> None:
    (found,) = unfused(SCHEDULE, json.dumps([["op1", "op2", "why"]]))
    assert (found.first_ops, found.second_ops, found.buffers) == (("aten.op0",), ("aten.op2",), ("b",))
    assert [line.line for line in found.lines] == [0, 1]


def test_most_bytes_first_and_unknown_sizes_last() -> None:
    schedule = _scheduled(
        [("op0", ["x"], ["a"])],
        [("op1", ["a"], ["b"])],
        [("op2", ["a", "b"], ["c"])],
        [("op3", ["c"], ["d"])],
    )
    tensors = {name: Tensor("float32", (str(n),), ("1",), "cpu") for name, n in (("a", 10), ("b", 90))}
    rows = [["op0", "op1", "r"], ["op1", "op2", "r"], ["op2", "op3", "r"]]
    found = unfused(schedule, json.dumps(rows), tensors.get)
    assert [(u.buffers, u.shared_bytes and u.shared_bytes.value) for u in found] == [
        (("b",), 360),
        (("a",), 40),
        (("c",), None),
    ]


@pytest.mark.parametrize("text", [None, "", "{", "[1, [2], [1, 2], {}]", "{}"])
def test_odd_texts_have_no_pairs(text: str | None) -> None:
    assert unfused(SCHEDULE, text) == ()
    assert unfused(None, "[]") == ()


def test_reasons_are_counts() -> None:
    assert reasons({"reasons": {"a": 2, "b": "x"}}) == {"a": 2}
    formats = {"numel mismatch (reduce) (%s, %s), (%s, %s)": 3, "numel mismatch (reduce)": 1, "%s": 1}
    assert reasons({"reasons": formats}) == {"numel mismatch (reduce)": 4, "%s": 1}
    assert reasons({"reasons": 3}) == {}
