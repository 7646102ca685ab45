"""The ladder planner: buckets recommended from real traffic and measured cost."""

from __future__ import annotations

from compilescope.ladder.planner.cost_file import load_costs
from compilescope.ladder.planner.costs import Amount, Costs, Dynamic
from compilescope.ladder.planner.curve import CostPoint, Curve
from compilescope.ladder.planner.drift import Drift, drift
from compilescope.ladder.planner.errors import CostError, PlanError, TrafficError
from compilescope.ladder.planner.interval import Gain
from compilescope.ladder.planner.joint import JointLadder
from compilescope.ladder.planner.limits import Limits
from compilescope.ladder.planner.plan import Choice, LadderPlan, plan_ladder
from compilescope.ladder.planner.plan_product import plan_product
from compilescope.ladder.planner.score import Score, score
from compilescope.ladder.planner.study import Rival, Study, study_ladder
from compilescope.ladder.planner.surface import Surface
from compilescope.ladder.planner.traffic import Traffic
from compilescope.ladder.planner.traffic_file import load_traffic

__all__ = [
    "Amount",
    "Choice",
    "CostError",
    "CostPoint",
    "Costs",
    "Curve",
    "Drift",
    "Dynamic",
    "Gain",
    "JointLadder",
    "LadderPlan",
    "Limits",
    "PlanError",
    "Rival",
    "Score",
    "Study",
    "Surface",
    "Traffic",
    "TrafficError",
    "drift",
    "load_costs",
    "load_traffic",
    "plan_ladder",
    "plan_product",
    "score",
    "study_ladder",
]
