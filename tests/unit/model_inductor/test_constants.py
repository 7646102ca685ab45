"""Bytes of a frozen C++ GEMM template, counted by hand: the weight is a constant of the code."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from compilescope.model.inductor.constants import with_constants
from compilescope.model.inductor.fusion import fusion
from compilescope.model.inductor.launches import walk
from compilescope.model.inductor.output_code import parse_output_code
from compilescope.model.inductor.schedule import Schedule, parse_schedule

Real = Callable[[str], str]
X, WEIGHT, BIAS, RESULT = 64 * 1024 * 4, 1024 * 2048 * 4, 2048 * 4, 64 * 2048 * 4


def _schedule(text: str) -> Schedule:
    return parse_schedule({}, text, lambda _: None)


def test_a_template_reads_its_packed_weight(real: Real) -> None:
    code = parse_output_code(real("cpu_template_code"))
    walked = walk(code)
    assert code.constants == {"constant3", "_frozen_param1"}
    schedule = with_constants(_schedule(real("cpu_template_schedule.json")), code, walked)
    found = fusion(code, walked, None, schedule, None)
    assert found.bytes_after is not None
    assert found.bytes_after.value == X + WEIGHT + BIAS + RESULT
    # alone, the template writes what the GELU and the bias then read
    assert found.bytes_before is not None
    assert found.bytes_before.value == (X + WEIGHT + RESULT) + (RESULT + BIAS + RESULT)


def test_the_code_alone_tells_the_same(real: Real) -> None:
    code = parse_output_code(real("cpu_template_code"))
    found = fusion(code, walk(code), None, None, None)
    assert found.bytes_after is not None
    assert found.bytes_after.value == X + WEIGHT + BIAS + RESULT


def test_rows_picked_from_a_constant_are_not_the_whole_of_it(real: Real) -> None:
    rows = json.loads(real("cpu_template_schedule.json"))
    rows[0]["ops"].append(["embedding", "aten.embedding.default"])
    code = parse_output_code(real("cpu_template_code"))
    schedule = with_constants(_schedule(json.dumps(rows)), code, walk(code))
    assert schedule is not None
    assert schedule.nodes[0].size_bytes == X + RESULT


@pytest.mark.parametrize("name", ["cpu_forward", "h200_chain"])
def test_without_constants_nothing_changes(real: Real, name: str) -> None:
    code = parse_output_code(real(f"{name}_code"))
    schedule = _schedule(real("cpu_template_schedule.json"))
    assert with_constants(schedule, code, walk(code)) == schedule
    assert with_constants(None, code, walk(code)) is None
