"""Findings about a whole frame or graph rather than about rows of the report."""

from __future__ import annotations

from dataclasses import replace

from compilescope.advice.cause import Cause, Place, Telling, finding
from compilescope.advice.facts import Facts
from compilescope.advice.finding import Confidence, Finding, Saving, Severity
from compilescope.analysis.paths import called
from compilescope.analysis.report import Frame


def of_frame(
    facts: Facts,
    frame: Frame,
    rule: str,
    fix_kind: str,
    summary: str,
    fix: str,
    wrong: str,
    *,
    severity: Severity,
    confidence: Confidence,
    ids: tuple[str, ...] = (),
) -> Finding:
    telling = Telling(
        rule=rule,
        fix_kind=fix_kind,
        summary=f"{called(frame.function)}: {summary}",
        fix=fix,
        subject=rule,
        confidence=confidence,
        could_be_wrong=wrong,
        notes=(("compile ids " + ", ".join(ids)),) if ids else (),
    )
    code = facts.sources.line(frame.file, frame.line)
    place = Place(frame.file, frame.line, frame.function, code, frame.called_from)
    return finding(facts, Cause(), place, telling, severity)


def with_saving(found: Finding, saving: Saving) -> Finding:
    return replace(found, saving=saving)
