"""The compact plan in the report says what the full study says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from compilescope.analysis.build import build_report
from compilescope.analysis.ladders import compact, ladders, plan_of
from compilescope.analysis.traffic import FrameTraffic
from compilescope.cli._ladder import ladder_text
from compilescope.ladder.planner import CostPoint, Costs, Curve, Dynamic, Limits, Traffic, study_ladder
from compilescope.recording import open_recording

CASE = Path(__file__).parents[3] / "fixtures" / "corpus" / "recordings" / "38_poor_bucket_ladder.zip"


def bimodal() -> Traffic:
    draw = np.random.default_rng(1)
    sizes = np.where(draw.random(400) < 0.8, draw.integers(100, 140, 400), draw.integers(900, 1000, 400))
    return Traffic.of(sizes, label="forward my model.py:12")


def measured() -> Costs:
    static = Curve.measured(CostPoint.of(size, 20 + size, 19 + size, 22 + size) for size in (64, 512, 1024))
    dynamic = Curve.measured(CostPoint.of(size, 30 + 1.2 * size) for size in (64, 512, 1024))
    return Costs(static, (Dynamic(dynamic, 512),))


def test_a_recording_has_its_plan_and_a_first_page_has_none() -> None:
    report = build_report(open_recording(CASE))
    (found,) = report.ladders
    assert (found.function, found.file, found.line) == ("encode", "38_poor_bucket_ladder.py", 8)
    assert found.pads == [32, 64, 128, 256]
    assert found.basis == "assumed"
    assert build_report(open_recording(CASE), detail=False).ladders == []


def test_it_says_what_the_study_says() -> None:
    study = study_ladder(bimodal(), measured())
    found = compact(study)
    ladder = study.plan.chosen.ladder
    assert (found.function, found.file, found.line) == ("forward", "my model.py", 12)
    assert found.pads + found.pins == [rung.size for rung in (*ladder.pad_rungs, *ladder.pin_rungs)]
    assert found.cost == pytest.approx(study.score.cost, abs=1e-4)
    assert found.unit == "us"
    assert [each.name for each in found.rivals] == [each.name for each in study.rivals]
    exec(found.code, scope := {})
    assert scope["ladder"] == ladder


def test_the_three_series_are_there_to_draw() -> None:
    traffic = bimodal()
    found = compact(study_ladder(traffic, measured()))
    (histogram,) = found.histograms
    assert sum(bar.calls for bar in histogram.bars) == traffic.calls
    assert sorted(rung for bar in histogram.bars for rung in bar.rungs) == sorted(found.pads + found.pins)
    points = [(each.size, each.cost) for each in found.curve if each.measured and each.artifact == "static"]
    assert points == [(64, 84), (512, 532), (1024, 1044)]
    assert {each.artifact for each in found.curve} == {"static", "dynamic"}
    assert sum(each.chosen for each in found.by_count) == 1
    assert [each.rungs for each in found.by_count] == sorted(each.rungs for each in found.by_count)


def test_planning_ends_when_its_time_is_used_up() -> None:
    report = build_report(open_recording(CASE))
    assert len(ladders(report)) == 1
    more: dict[str, int] = {}
    assert ladders(report, cpu_s=-1.0, more=more) == []
    assert more == {"ladders": 1}
    assert ladders(replace(report, sizes=[])) == []


def test_many_symbols_and_many_sizes() -> None:
    draw = np.random.default_rng(0)
    three = Traffic.of(np.stack([draw.integers(1, most, 60) for most in (3, 90, 7)], axis=1))
    report = build_report(open_recording(CASE))

    def frame(traffic: Traffic) -> FrameTraffic:
        dims = tuple(("L['x']", number) for number in range(len(traffic.names)))
        return FrameTraffic(traffic, "f", "train.py", 1, "7", dims, dims)

    study = plan_of(report, frame(three))
    assert study is not None
    assert study.plan.symbols == ("size1",)
    assert plan_of(report, frame(Traffic.of(np.arange(1, 6000)))) is None
    two = plan_of(report, frame(three.only(["size0", "size2"])))
    assert two is not None
    found = compact(two)
    assert found.products == {}
    assert found.combinations == [list(pair) for pair in two.plan.chosen.ladder.combinations]  # type: ignore[union-attr]
    assert len(found.combinations) == found.rungs
    assert "only 2x1 1x4 " in ladder_text([replace(found, calls=100)], 200)
    assert compact(two).curve == []


def test_findings_are_followed_by_the_plan_in_a_sentence() -> None:
    (found,) = build_report(open_recording(CASE)).ladders
    text = ladder_text([found], 60)
    assert all(len(line) <= 60 for line in text.splitlines())
    assert "pads 32 64 128 256; 0% above one artifact a size, with nothing measured." in " ".join(
        text.split()
    )
    assert ladder_text([], 60) == ladder_text([replace(found, calls=9)], 60) == ""
    assert "\x1b" not in ladder_text([replace(found, symbols=["\x1b[2J"])], 60)
    ranged = compact(study_ladder(bimodal(), measured(), Limits(max_rungs=1, pads=False)))
    assert "tuned at 512" in " ".join(ladder_text([ranged], 200).split())
