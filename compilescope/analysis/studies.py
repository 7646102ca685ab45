"""The ladders that the sizes of a recording recommend: a study for each frame with enough calls."""

from __future__ import annotations

from compilescope.analysis.report import Report
from compilescope.analysis.traffic import traffic_from_report
from compilescope.ladder.planner import PlanError, Study, Traffic, TrafficError, study_ladder

MAX_STUDIES = 3
FEWEST_CALLS = 10  # half of them are planned from: fewer recommend what happened to come first


def studies_of(report: Report) -> list[Study]:
    """Of the frames with most calls, at most three. Nothing was measured: a call costs its elements.

    Of a frame with more than two free sizes the one that came in most values is planned.
    """
    found: list[Study] = []
    for traffic in traffic_from_report(report):
        if len(found) < MAX_STUDIES and traffic.calls >= FEWEST_CALLS:
            try:
                found.append(study_ladder(_plannable(traffic)))
            except (PlanError, TrafficError):
                continue  # such as limits that no ladder meets: the sizes stand in the report all the same
    return found


def _plannable(traffic: Traffic) -> Traffic:
    if len(traffic.names) <= 2:
        return traffic
    values = {name: len(set(traffic.column(name).tolist())) for name in traffic.names}
    return traffic.only([max(values, key=lambda name: values[name])])
