"""A function that a decorator of torch's wraps has its own name and its own parameters, not the wrapper's."""

from __future__ import annotations

from typing import Any

import pytest
from model_values import FILE, compiled, graph, index, place, process

from compilescope.analysis.attempts import Attempts
from compilescope.analysis.causes_of_frames import BreakOrigins
from compilescope.analysis.recompiles import recompiles
from compilescope.analysis.report import Recompile
from compilescope.analysis.wrappers import SEVERAL
from compilescope.model import CompileTarget, Guard, GuardFailure, Location

TORCH = "/venv/lib/python3.11/site-packages/torch"
INNER = Location(f"{TORCH}/_dynamo/external_utils.py", 67, "inner")
DECORATED = Location(f"{TORCH}/utils/_contextlib.py", 120, "update")
SOURCE = """import torch


@torch.compile
@torch.no_grad()
def update(decay, *, scale=1):
    p.mul_(decay * scale)
"""


def _target(name: str = "update", line: int = 4, **more: Any) -> CompileTarget:
    facts = {"target": "builtins.function", "location": DECORATED, "disabled": False}
    return CompileTarget(name=name, call=(place("<module>", line),), **{**facts, **more})


def _row(*targets: CompileTarget, code: str = "L['args'][0] == 1", source: str = SOURCE) -> Recompile:
    again = compiled(0, INNER, 1, call=(place("main", 95),))
    guard = Guard("EQUALS_MATCH", code.split(" ==")[0], (code,), {"t": "int", "v": 2})
    failure = GuardFailure(again.id, "0/0", True, f"0/0: {code}", (guard,), {}, {}, {}, None)
    of = process(
        compiled(0, INNER, call=(place("main", 95),)),
        again,
        graphs=(graph(0),),
        guard_failures=(failure,),
        targets=targets,
        sources={FILE: source},
    )
    found = index(of)
    (row,) = recompiles(found, Attempts(found), BreakOrigins(found))
    return row


def test_the_function_inside_is_named_at_its_first_line() -> None:
    row = _row(_target())
    assert (row.file, row.line, row.function) == ("train.py", 4, "update")
    assert row.called_from == "train.py:95 main"


@pytest.mark.parametrize(
    ("code", "source", "holder"),
    [
        ("L['args'][0] == 1", "decay", "argument"),
        ("L['kwargs']['scale'] == 1", "scale", "argument"),
        ("L['args'][7] == 1", "args[7]", "argument"),
    ],
)
def test_an_argument_of_the_wrapper_is_a_parameter_of_the_function(
    code: str, source: str, holder: str
) -> None:
    row = _row(_target(), code=code)
    assert (row.source, row.holder, row.changes, row.named_by_torch) == (source, holder, [(1, 2)], 1)


def test_a_function_compiled_elsewhere_stands_where_it_is_defined() -> None:
    """``update = torch.compile(update)`` in another line."""
    assert _row(_target(line=9)).line == 4


def test_a_function_whose_source_is_not_known_stands_where_it_was_handed_to_torch() -> None:
    row = _row(_target(), source="x = 1")
    assert (row.line, row.function, row.source) == (4, "update", "args[0]")


@pytest.mark.parametrize(
    "targets",
    [
        (),
        (_target(), _target("other", 20)),
        (_target(target="torch.nn.modules.container.Sequential", name="Module._call_impl"),),
        (_target(), _target(target="torch.nn.modules.container.Sequential", location=None)),
        (_target(location=place("update", 4)),),
    ],
    ids=["unknown", "two functions", "module of torch", "module beside it", "no wrapper"],
)
def test_where_it_is_not_one_function_the_line_that_calls_it_stands(targets: tuple[CompileTarget]) -> None:
    row = _row(*targets)
    assert (row.line, row.function, row.source) == (95, "main", "args[0]")


@pytest.mark.parametrize("source", ["L['fn'].__code__", "L['fn'].__closure__[1].cell_contents.__code__"])
def test_another_function_in_the_wrapper_is_told_as_that(source: str) -> None:
    reason = f"0/0: ___check_obj_id({source}, 7), type=<class 'code'>"
    compiles = (compiled(0, INNER), compiled(0, INNER, 1, reasons=(reason,)))
    found = index(process(*compiles, targets=(_target(), _target("other", 20))))
    (row,) = recompiles(found, Attempts(found), BreakOrigins(found))
    assert (row.kind, row.source, row.holder) == ("code", SEVERAL, None)
