from __future__ import annotations

import json
from typing import Any

import pytest

from compilescope.model.inductor import autotune

_RECORD: dict[str, Any] = {
    "name": "addmm",
    "inputs": [
        {"size": ["16", "4096"], "stride": ["0", "1"], "dtype": "bfloat16"},
        {"size": ["16", "1024"], "stride": ["1024", "1"], "dtype": "bfloat16"},
    ],
    "choices": [
        {"name": "bias_addmm", "type": "ExternKernelCaller", "ms": 0.0357},
        {"name": "addmm", "type": "ExternKernelCaller", "ms": 0.0255},
        {"name": "triton_mm_0", "type": "TritonTemplateCaller", "failed": True, "config": "BLOCK_M=16"},
        {"name": "triton_mm_4", "type": "TritonTemplateCaller", "ms": 0.0085, "config": "BLOCK_M=32"},
    ],
    "count": 4,
    "failures": ["No valid triton configs. OutOfMemoryError: out of resource: triton_mm Required: 262144"],
}
_STATS = {
    "num_choices": 22,
    "num_triton_choices": 20,
    "best_kernel": "addmm",
    "best_time": 0.0224,
    "best_triton_pos": 1,
    "best_triton_kernel": "triton_mm_180",
    "best_triton_time": 0.0267,
    "best_triton_kernel_desc": "BLOCK_M=64",
}
_ARGS = {
    "autotune_shape": "s0x4096, 1024x4096",
    "autotune_shape_hinted": "16x4096, 1024x4096",
    "autotune_strides": "[4096, 1], [1, 4096]",
    "autotune_dtypes": "torch.bfloat16, torch.bfloat16",
    "autotune_choices_stats": json.dumps(_STATS),
}


def test_winner_margin_and_the_best_of_each_kind() -> None:
    found = autotune.from_record(_RECORD)
    assert [c.name for c in found.choices] == ["triton_mm_4", "addmm", "bias_addmm", "triton_mm_0"]
    assert found.winner is not None
    assert (found.winner.backend, found.winner.time_ms) == ("triton", 0.0085)
    assert found.margin == pytest.approx(3.0)
    extern = found.best("extern")
    assert extern is not None
    assert extern.name == "addmm"
    assert found.choices[-1].failed
    assert found.shapes == ("16x4096", "16x1024")
    assert "262144" in found.failures[0]


def test_a_phase_has_the_winner_and_the_best_triton_candidate() -> None:
    found = autotune.from_phase("addmm_template_autotuning", 7_705_530, _ARGS)
    assert found is not None
    assert (found.op, found.count, found.tuning_s) == ("addmm", 22, pytest.approx(7.70553))
    assert [(c.name, c.backend) for c in found.choices] == [("addmm", "extern"), ("triton_mm_180", "triton")]
    assert found.shapes[0] == "s0x4096"
    assert found.hinted[0] == "16x4096"
    assert found.strides == ("[4096, 1]", "[1, 4096]")
    assert autotune.from_phase("code_gen", 1.0, _ARGS) is None


def test_records_take_the_duration_of_their_phase() -> None:
    args = {**_ARGS, "autotune_shape": "16x4096, 16x1024"}
    phase = autotune.from_phase("addmm_template_autotuning", 2e6, args)
    other = autotune.from_phase("mm_template_autotuning", 1e6, _ARGS)
    assert phase is not None
    assert other is not None
    first, second = autotune.merged([autotune.from_record(_RECORD)], [other, phase])
    assert (first.tuning_s, len(first.choices)) == (2.0, 4)
    assert (second.op, second.tuning_s) == ("mm", 1.0)


def test_configurations_of_a_triton_kernel() -> None:
    m = {
        "kernel": "triton_poi_fused_gelu_0",
        "configs": [
            {"config": {"XBLOCK": 1024, "num_warps": 4}, "ms": 0.0234, "n_regs": 32, "n_spills": 0},
            {"config": {"XBLOCK": 512, "num_warps": 8}, "ms": 0.0217, "n_regs": 18, "n_spills": 0},
            {"config": {"XBLOCK": 64}, "failed": True, "n_spills": 90},
        ],
    }
    found = autotune.triton_tuning(m)
    assert [c.failed for c in found.choices] == [False, False, True]
    assert found.choices[0].config == "XBLOCK=512, num_warps=8, n_regs=18, n_spills=0"


@pytest.mark.parametrize(
    "m",
    [
        {},
        {"choices": "x", "inputs": 3, "failures": {}},
        {"choices": [{"ms": float("inf")}, 3, {"ms": True}], "inputs": [{"size": 1}]},
    ],
)
def test_odd_records_have_no_winner(m: dict[str, object]) -> None:
    assert autotune.from_record(m).winner is None


def test_node_line_and_reasons_of_failures() -> None:
    choices = [*_RECORD["choices"][:2], {**_RECORD["choices"][2], "why": "out of resource"}]
    record = {**_RECORD, "choices": choices, "node": "addmm_3", "line": [4, 17, "f"], "is_backward": True}
    found = autotune.from_record(record)
    assert (found.node, found.place, found.backward) == ("addmm_3", (4, 17, "f"), True)
    assert found.choices[-1].why == "out of resource"
    assert found.default is not None
    assert (found.default.name, found.margin_over_default) == ("addmm", 1.0)


@pytest.mark.parametrize("line", [None, 3, [1], [1, "2", "f"], ["a", 2, "f"], {}])
def test_odd_places_are_absent(line: object) -> None:
    found = autotune.from_record({**_RECORD, "node": 3, "line": line, "is_backward": "yes"})
    assert (found.node, found.place, found.backward) == (None, None, None)


def test_the_default_is_the_library_call_of_the_same_name() -> None:
    found = autotune.from_record(_RECORD)
    assert found.margin_over_default == pytest.approx(3.0)
    only_triton = autotune.from_record({**_RECORD, "choices": _RECORD["choices"][2:]})
    assert (only_triton.default, only_triton.margin_over_default) == (None, None)


def test_odd_statistics_leave_the_shapes() -> None:
    found = autotune.from_phase(
        "mm_template_autotuning", -1, {"autotune_shape": "1x1", "autotune_choices_stats": "{"}
    )
    assert found is not None
    assert (found.choices, found.tuning_s, found.count) == ((), None, 0)
