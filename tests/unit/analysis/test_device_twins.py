from __future__ import annotations

from compilescope.analysis.device_twins import device_twins
from compilescope.analysis.report import Graph, Placeholder


def graph(compile_id: str, device: str, shape: int = 8, *, backward: bool = False, **fields: object) -> Graph:
    inputs = [
        Placeholder("w", "tensor", "L['w']", "float32", [4], [1], "cpu"),
        Placeholder("x", "tensor", "L['x']", "float32", [shape, 4], [4, 1], device),
    ]
    row = Graph(0, compile_id, "step", "train.py", 5, 3, 10, backward, 1.5, "p1", placeholders=inputs)
    return Graph(**{**{f: getattr(row, f) for f in Graph.__slots__}, **fields})


def test_only_the_number_of_the_device_differs() -> None:
    rows = [graph("0/0", "cuda:0"), graph("0/1", "cuda:1"), graph("0/2", "cuda:1", 9), graph("0/3", "cuda:3")]
    first, second = device_twins(rows)
    assert (first.compile_id, first.same_as, first.device_before, first.device_after) == (
        "0/1",
        "0/0",
        "cuda:0",
        "cuda:1",
    )
    assert (second.compile_id, second.same_as, second.device_after) == ("0/3", "0/0", "cuda:3")
    assert (first.function, first.line, first.compile_s) == ("step", 5, 1.5)


def test_another_kind_of_device_another_process_or_a_backward_is_no_twin() -> None:
    assert device_twins([graph("0/0", "cuda:0"), graph("0/1", "cpu")]) == []
    assert device_twins([graph("0/0", "cuda:0"), graph("0/0", "cuda:1", process="p2")]) == []
    assert device_twins([graph("0/0", "cuda:0"), graph("0/0", "cuda:1", backward=True)]) == []
    assert device_twins([graph("0/0", "cuda:0"), graph("0/1", "cuda:0")]) == []
