from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from compilescope.cli.ladder import FORMS, command
from compilescope.errors import UsageError
from compilescope.ladder.planner import (
    Amount,
    CostPoint,
    Costs,
    Curve,
    Dynamic,
    Limits,
    PlanError,
    Traffic,
    TrafficError,
    study_ladder,
)
from compilescope.ladder.planner.in_use import ladder_from_text
from compilescope.views import ladder_text

HOSTILE = "\x1b[2J<script>\u202e[red]" + "x" * 300
COST = {
    "static": [{"size": 16, "cost_us": 60}, {"size": 2048, "cost_us": 280}],
    "dynamic": [{"size": 16, "cost_us": 70}, {"size": 2048, "cost_us": 330}],
    "compile_s": 1.5,
}


@pytest.fixture
def traffic(tmp_path: Path) -> Path:
    path = tmp_path / "traffic.json"
    path.write_text(json.dumps({"name": "two modes", "sizes": [130, 140, 150, 1100, 135] * 60}))
    return path


def run(*args: object) -> str:
    result = CliRunner().invoke(command, [str(arg) for arg in args])
    if result.exception is not None:
        raise result.exception
    return result.stdout


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("ascii", [False, True])
def test_no_line_is_too_long_and_nothing_reaches_the_terminal(width: int, ascii: bool) -> None:
    sizes = [[1, 130], [4, 1100], [2, 140]] * 40
    for traffic in (
        Traffic.of([row[1] for row in sizes], names=[HOSTILE], label=HOSTILE, unseen=5),
        Traffic.of(sizes, names=[HOSTILE, "b"], label=HOSTILE, ordered=False),
    ):
        text = ladder_text.render(study_ladder(traffic, limits=Limits(max_rungs=4)), width=width, ascii=ascii)
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert text.isascii() or not ascii
        assert max(len(line) for line in text.splitlines() if not line.startswith("    ")) <= width
        assert text.endswith("\n")
        assert "\n\n\n" not in text


@pytest.mark.parametrize("unit", ["us", "elements"])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e2, 1e4, 1e6])
def test_columns_stay_apart_at_any_magnitude(scale: float, unit: str) -> None:
    traffic = Traffic.of([(7 if scale < 1 else int(scale)) * (1 + number % 9) for number in range(90)])
    points = [CostPoint.of(size, size * min(scale, 1e4)) for size in (1, 1000 * max(int(scale), 1))]
    costs = Costs(Curve.measured(points), (), Amount.of(scale)) if unit == "us" else None
    lines = ladder_text.render(study_ladder(traffic, costs, Limits(max_rungs=4))).splitlines()
    head = next(line for line in lines if line.startswith("ladder "))
    ends = [head.index(word) + len(word) for word in ("rungs", "cost/call", "padding", "compile")]
    rows = [line for line in lines if line.startswith(("planned ", "powers of two ", "vLLM's default "))]
    assert len(rows) == 3
    for row in rows:
        for start, end in itertools.pairwise(ends):
            assert row[start] == " ", row
            assert row[end - 1] != " ", row
    labels = [line.split("|")[0] for line in lines if "|" in line]
    assert len({len(label) for label in labels}) <= 1


def test_the_page_says_what_matters(traffic: Path) -> None:
    text = run(traffic, "--max-rungs", 3, "--align", 8)
    assert "BucketLadder.pads([136, 152, 1104])" in text
    assert "planned on the first half (150), scored on the other (150)" in text
    for rival in ("powers of two", "multiples", "quantiles", "vLLM's default"):
        assert rival in text
    assert "Note: nothing was measured" in text
    assert "<- 136" in text


def test_measured_costs_a_budget_and_a_ladder_in_use(traffic: Path, tmp_path: Path) -> None:
    cost = tmp_path / "cost.json"
    cost.write_text(json.dumps(COST))
    text = run(traffic, "--cost", cost)
    assert "No rung pays over 300 calls; one would from " in text
    text = run(traffic, "--cost", cost, "--calls", "1e9", "--compile-budget", 4, "--in-use", "256,2048")
    assert "in use" in text
    assert "3.00 s" in text
    assert "dynamic alone" in text


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_written(traffic: Path, form: str) -> None:
    text = run(traffic, "--max-rungs", 2, "--pad", "--emit", form)
    assert "1100" in text
    assert text.endswith("\n")


def test_one_symbol_of_two_is_planned(tmp_path: Path) -> None:
    path = tmp_path / "joint.json"
    path.write_text(json.dumps({"sizes": [[1, 5], [2, 9]] * 20, "symbols": ["batch", "length"]}))
    assert "batch: BucketLadder.pads([1, 2])" in run(path)
    assert "    BucketLadder.pads([5, 9])" in run(path, "--symbol", "length")
    with pytest.raises(TrafficError, match="no symbol"):
        run(path, "--symbol", "width")


def test_a_set_of_combinations_is_shown_beside_the_best_product(tmp_path: Path) -> None:
    path = tmp_path / "joint.json"
    path.write_text(json.dumps({"sizes": [[1, 50], [2, 9], [8, 1]] * 20, "symbols": ["batch", "length"]}))
    text = run(path, "--max-rungs", 4)
    assert "    only these batch x length: 8x1, 2x9, 1x50, 8x50\n" in text
    assert "best product" in text
    assert "combinations chosen one by one cost 60% less than the best product" in " ".join(text.split())
    assert "only = [\n    {'batch': 8, 'length': 1},\n" in run(path, "--max-rungs", 4, "--emit", "python")
    assert run(path, "--max-rungs", 4, "--emit", "pads").startswith("batch=8 length=1\n")


def test_what_was_asked_wrongly_is_said(traffic: Path, tmp_path: Path) -> None:
    with pytest.raises(TrafficError, match="No such file"):
        run(tmp_path / "absent.json")
    with pytest.raises(UsageError, match="was not measured"):
        run(traffic, "--pin")
    with pytest.raises(PlanError, match="number of calls"):
        run(traffic, "--calls", "-5")
    with pytest.raises(PlanError, match="number of calls"):
        run(traffic, "--calls", "nan")
    with pytest.raises(PlanError, match="number of calls"):
        run(traffic, "--calls", "0")


@pytest.mark.parametrize("text", ["", "16,", "16;32", "-3", "1e3", "16,x", "٣", "9" * 5000])
def test_a_ladder_in_use_is_a_list_of_sizes(text: str) -> None:
    with pytest.raises(PlanError, match="list of sizes"):
        ladder_from_text(text)


def test_a_ladder_in_use_is_of_the_kind_asked_for() -> None:
    assert [pin.size for pin in ladder_from_text("32, 16", pins=True).pin_rungs] == [16, 32]
    with pytest.raises(UsageError, match="more than once"):
        ladder_from_text("16,16")


def test_measured_costs_are_drawn_with_their_points_and_the_rungs_below() -> None:
    static = Curve.measured(CostPoint.of(size, 20.0 + size) for size in (16, 64, 256))
    dynamic = Curve.measured(CostPoint.of(size, 40.0 + 2 * size) for size in (16, 256))
    traffic = Traffic.of([17, 66, 200, 250] * 20)
    study = study_ladder(traffic, Costs(static, (Dynamic(dynamic, 66),)), Limits(max_rungs=4), calls=1e7)
    text = ladder_text.render(study, width=90)
    picture = text.split("Cost of a call by size")[1].split("Cost of a call by number")[0].splitlines()[1:]
    assert sum(line.count("o") for line in picture) == 3
    assert sum(line.count("x") for line in picture) == 2
    assert sum(line.count("^") for line in picture) == study.plan.chosen.rungs - len(
        study.plan.chosen.ladder.range_rungs
    )
    assert all(len(line) <= 90 for line in text.splitlines() if "BucketLadder" not in line)
    bars = text.split("on the half planned on (* chosen)")[1].split("Note")[0]
    assert bars.count("*") == 1
    assert "Cost of a call by size" not in ladder_text.render(study_ladder(traffic), width=90)
    assert ladder_text.render(study, width=90, ascii=True).isascii()
