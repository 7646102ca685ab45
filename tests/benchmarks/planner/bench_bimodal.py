"""Excess of a planned ladder over unpadded calls on two-mode traffic: at most a third of powers of two's."""

from __future__ import annotations

import sys

import numpy as np

from compilescope.ladder.planner import Limits, Traffic, study_ladder

MOST_OF_POWERS = 1 / 3


def main() -> int:
    draw = np.random.default_rng(0)
    short, long = draw.normal(140, 13, 3000), draw.normal(1090, 50, 3000)
    traffic = Traffic.of(np.where(draw.random(3000) < 0.7, short, long).round().astype(int))
    print("excess over unpadded, later half      planned   powers of two   ratio")
    worst = 0.0
    for rungs in (3, 4, 5, 6, 8):
        study = study_ladder(traffic, limits=Limits(rungs, align=8))
        powers = next(rival.score for rival in study.rivals if rival.name == "powers of two")
        ratio = study.score.excess / powers.excess
        worst = max(worst, ratio)
        print(f"{rungs} rungs{study.score.excess:38.1%}{powers.excess:16.1%}{ratio:8.2f}")
    return int(worst > MOST_OF_POWERS)


if __name__ == "__main__":
    sys.exit(main())
