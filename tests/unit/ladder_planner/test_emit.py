"""What is written out is what was planned, and is what its reader takes."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import torch

from compilescope.ladder import BucketLadder, LadderProduct
from compilescope.ladder.planner import (
    Amount,
    CostPoint,
    Costs,
    Curve,
    Dynamic,
    JointLadder,
    LadderPlan,
    Limits,
    PlanError,
    Study,
    Surface,
    Traffic,
    plan_ladder,
    study_ladder,
)
from compilescope.ladder.planner.emit import ladder_code, mark_dynamic_code, pad_list, vllm_config
from compilescope.ladder.planner.json_form import study_json
from compilescope.ladder.planner.json_schema import study_schema

STATIC = Curve.measured([CostPoint.of(4, 60.0), CostPoint.of(64, 280.0)])
SLOWER = Curve.measured([CostPoint.of(4, 70.0), CostPoint.of(64, 330.0)])
FASTER = Curve.measured([CostPoint.of(4, 61.0), CostPoint.of(16, 105.0), CostPoint.of(64, 500.0)])
DYNAMIC = (Dynamic(SLOWER, 48), Dynamic(FASTER, 8))
TWO_HINTS = Costs(STATIC, DYNAMIC, Amount.of(1.0), memory_bytes=Amount.of(9.0))
TRAFFIC = Traffic.of([*range(3, 16), 4, 4, 4, *range(30, 60, 5), 64, 64] * 9)
GRID = [((a, b), CostPoint.of(a * b, 10.0 + a * b)) for a in (1, 8) for b in (1, 64)]
PRODUCT = JointLadder(("a", "b"), (BucketLadder.pads([4, 8]), BucketLadder.pads([1, 64])))
PAIRS = Traffic.of([[1, 8], [1, 8], [4, 2], [8, 64]] * 20, names=['ba"tch', "len\ngth"])


def pinned() -> LadderPlan:
    return plan_ladder(TRAFFIC, TWO_HINTS, Limits(max_rungs=4, pads=False), calls=1e9)


def padded() -> LadderPlan:
    return plan_ladder(TRAFFIC, Costs.assumed(), Limits(max_rungs=3))


def padded_pairs() -> LadderPlan:
    return study_ladder(PAIRS, limits=Limits(max_rungs=3)).plan


def pinned_pairs() -> Study:
    grid = Surface.measured(GRID)
    slower = Surface.measured((pair, CostPoint.of(1, point.cost * 2)) for pair, point in GRID)
    return study_ladder(PAIRS, Costs(grid, (Dynamic(slower),)), Limits(max_rungs=3, pads=False))


def run(code: str) -> object:
    names: dict[str, object] = {}
    exec(code, names)
    return names["ladder"]


def test_the_code_makes_the_ladder() -> None:
    for plan in (pinned(), padded()):
        assert run(ladder_code(plan)) == plan.chosen.ladder
    pairs = pinned_pairs().plan
    made = run(ladder_code(pairs))
    assert isinstance(made, LadderProduct)
    assert made == pairs.chosen.ladder.as_product()  # type: ignore[union-attr]
    product = replace(padded(), chosen=replace(padded().chosen, ladder=PRODUCT))
    assert run(ladder_code(product)) == dict(PRODUCT.as_product().ladders)
    chosen = padded_pairs().chosen.ladder
    assert isinstance(chosen, JointLadder)
    assert chosen.form == "set"
    assert run(ladder_code(padded_pairs())) == chosen.as_product()
    assert list(chosen.as_product().only or ()) == [
        tuple(sorted(zip(PAIRS.names, pair, strict=True))) for pair in chosen.combinations
    ]


def test_two_ranges_each_hold_their_hint() -> None:
    ladder = pinned().chosen.ladder
    assert isinstance(ladder, BucketLadder)
    assert [span.hint for span in ladder.range_rungs] == [8, 48]
    assert all(span.low <= span.hint <= span.high for span in ladder.range_rungs)


def test_mark_dynamic_is_taken_by_torch_and_specializes(tmp_path: Path) -> None:
    plan = pinned()
    sizes = [pin.size for pin in plan.chosen.ladder.pin_rungs]  # type: ignore[union-attr]
    assert sizes
    mark = marking(plan, tmp_path)
    seen = []

    def backend(graph: torch.fx.GraphModule, inputs: list[object]) -> Callable[..., object]:
        seen.append(inputs)
        return graph.forward

    torch._dynamo.reset()
    compiled = torch.compile(lambda x: x + 1, backend=backend)
    for size in (*sizes, 40, 41):
        x = torch.zeros(size, 3)
        mark(x)
        assert compiled(x).shape == (size, 3)
    torch._dynamo.reset()
    assert len(seen) == 1 + len(sizes)


def marking(plan: LadderPlan, folder: Path) -> Callable[[torch.Tensor], None]:
    code = mark_dynamic_code(plan).replace("\n", "\n    ")
    path = folder / "marks.py"  # Dynamo reads the source of the lambdas
    path.write_text(f"def mark(x):\n    {code}\n")
    return runpy.run_path(str(path))["mark"]  # type: ignore[no-any-return]


def test_a_size_of_one_is_not_marked_because_torch_refuses_that(tmp_path: Path) -> None:
    one = plan_ladder(Traffic.of([1, 1, 5]), Costs.assumed())
    two = study_ladder(Traffic.of([[1, 1], [1, 1], [4, 8], [8, 1]] * 9), limits=Limits(max_rungs=6)).plan
    for plan, shapes in ((one, [(1, 3), (5, 3)]), (two, [(8, 1, 3), (8, 8, 3), (1, 8, 3)])):
        torch._dynamo.reset()
        mark = marking(plan, tmp_path)
        compiled = torch.compile(lambda x: x + 1, backend="eager")
        for shape in shapes:
            x = torch.zeros(shape)
            mark(x)
            assert compiled(x).shape == shape
    torch._dynamo.reset()


def test_mark_dynamic_leaves_out_what_torch_specializes_anyway() -> None:
    code = mark_dynamic_code(plan_ladder(Traffic.of([1, 1, 5]), Costs.assumed()))
    assert "size == 1," not in code
    assert "min=2," in code
    assert "size == 5," in code
    assert "Pad x to the ladder first" in code


def test_vllm_takes_pads_as_capture_sizes_and_pins_as_compile_sizes() -> None:
    pads = [rung.tuned_at for rung in padded().chosen.ladder]  # type: ignore[union-attr]
    assert json.loads(vllm_config(padded())) == {"compile_sizes": pads, "cudagraph_capture_sizes": pads}
    config = json.loads(vllm_config(pinned()))
    ladder = pinned().chosen.ladder
    assert config["compile_sizes"] == [pin.size for pin in ladder.pin_rungs]  # type: ignore[union-attr]
    assert config["compile_ranges_endpoints"] == [ladder.range_rungs[0].high]  # type: ignore[union-attr]
    assert "cudagraph_capture_sizes" not in config
    with pytest.raises(PlanError, match="one size"):
        vllm_config(pinned_pairs().plan)


def test_the_pad_list_has_one_a_line() -> None:
    assert [int(line) for line in pad_list(padded()).splitlines()] == [
        pad.size
        for pad in padded().chosen.ladder.pad_rungs  # type: ignore[union-attr]
    ]
    with pytest.raises(PlanError, match="no pads"):
        pad_list(pinned())
    both = pad_list(replace(padded(), chosen=replace(padded().chosen, ladder=PRODUCT)))
    assert both == "a 4 8\nb 1 64\n"
    assert pad_list(padded_pairs()).splitlines() == [
        'ba"tch=1 len\\ngth=8',
        'ba"tch=4 len\\ngth=2',
        'ba"tch=8 len\\ngth=64',
    ]


def test_mark_dynamic_says_that_it_cannot_say_combinations() -> None:
    code = mark_dynamic_code(padded_pairs())
    assert "# cannot say which sizes come together: 1x8, 4x2, 8x64\n" in code
    compile(code, "marks", "exec")


@pytest.mark.parametrize(
    "study",
    [
        lambda: study_ladder(TRAFFIC, TWO_HINTS, calls=1e9),
        lambda: study_ladder(TRAFFIC, TWO_HINTS, Limits(pads=False, compile_budget_s=2.5), calls=1e9),
        lambda: study_ladder(TRAFFIC),
        lambda: study_ladder(Traffic.of([3, 4], counts=[20, 30], ordered=False, unseen=None)),
        lambda: study_ladder(PAIRS),
        pinned_pairs,
    ],
)
def test_json_follows_its_schema_and_is_the_same_twice(study: Callable[[], Study]) -> None:
    jsonschema.Draft202012Validator.check_schema(study_schema())
    text = study_json(study())
    assert text.isascii()
    assert text == study_json(study())
    jsonschema.Draft202012Validator(study_schema()).validate(json.loads(text))


def test_unknown_is_null_in_json() -> None:
    found = json.loads(study_json(study_ladder(Traffic.of([3, 4, 3, 4], unseen=None, label="\ud800"))))
    assert found["plan"]["chosen"]["compile_s"] is None
    assert found["plan"]["chosen"]["memory_bytes"] is None
    assert found["traffic"]["unseen_share"] is None
    assert found["traffic"]["label"] == "\\ud800"
    assert found["pays"] is None
    known = json.loads(study_json(study_ladder(TRAFFIC, TWO_HINTS)))
    assert known["plan"]["chosen"]["compile_s"] >= 1.0


def test_bars_hold_every_call_and_every_rung() -> None:
    draw = np.random.default_rng(3)
    study = study_ladder(Traffic.of(draw.integers(900, 40_000, 500)), limits=Limits(max_rungs=6))
    bars = json.loads(study_json(study))["traffic"]["histograms"][0]["bars"]
    assert sum(bar["calls"] for bar in bars) == 500
    rungs = [rung for bar in bars for rung in bar["rungs"]]
    assert rungs == [rung.tuned_at for rung in study.plan.chosen.ladder]  # type: ignore[union-attr]
    assert len(bars) <= 21
