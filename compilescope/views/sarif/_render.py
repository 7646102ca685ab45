"""Findings as one SARIF run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from compilescope.units import count, visible
from compilescope.views.finding_words import FindingWords, finding_words
from compilescope.views.sarif._rules import rule

if TYPE_CHECKING:
    from compilescope.analysis.report import Report

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"critical": "error", "high": "warning", "medium": "warning"}
MOST_RESULTS = 5_000  # code scanning keeps no more of a run
_LONGEST = 1_000


def render(report: Report, *, version: str) -> str:
    """A SARIF log, ASCII, ended by a newline. ``version`` is CompileScope's. Equal reports, equal bytes.

    A result is known by the finding's identity, so that an alert survives moved lines.
    """
    found = [(finding_words(f), str(f.get("identity") or "")) for f in report.findings]
    shown = found[:MOST_RESULTS]
    rules = sorted({words.rule for words, _ in shown if words.rule})
    run = {
        "tool": {
            "driver": {"name": "CompileScope", "version": version, "rules": [rule(slug) for slug in rules]}
        },
        "automationDetails": {"id": f"compilescope/{_clean(report.recording.name or 'program', 200)}/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report, left_out=len(found) - len(shown))],
        "results": [_result(words, identity, rules, report.recording.name) for words, identity in shown],
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def _result(words: FindingWords, identity: str, rules: list[str], script: str) -> dict[str, Any]:
    digest = hashlib.sha256(identity.encode("utf-8", "backslashreplace")).hexdigest()
    result: dict[str, Any] = {
        "message": {"text": _message(words)},
        "level": _LEVELS.get(words.severity, "note"),
        "partialFingerprints": {"compilescope/v1": digest, "primaryLocationLineHash": f"{digest[:16]}:1"},
        "properties": {"severity": words.severity, **_certainty(words)},
    }
    if words.rule:
        result |= {"ruleId": words.rule, "ruleIndex": rules.index(words.rule)}
    location = _location(words, script)
    return {**result, "locations": [location]} if location else result


def _message(words: FindingWords) -> str:
    parts = [
        words.title,
        f"Cost: {words.cost}" if words.cost else "",
        f"Fix: {words.fix}" if words.fix else "",
    ]
    lines = [_clean(part, _LONGEST) for part in parts if part]
    text = "\n".join([*lines, *([words.command] if words.command else [])]) or "unknown"
    return text.replace("](", "] (")  # which would be a link


def _certainty(words: FindingWords) -> dict[str, str]:
    facts = {"confidence": words.confidence, "couldBeWrong": words.could_be_wrong, "tried": words.verified}
    return {name: _clean(text, _LONGEST) for name, text in facts.items() if text}


def _location(words: FindingWords, script: str) -> dict[str, Any] | None:
    """Where the finding is; one without a file is shown at the top of the program."""
    file = words.file or (script if script.endswith(".py") else None)
    if file is None:
        return None
    line = words.line if words.file and words.line and words.line > 0 else 1
    physical = {"artifactLocation": _artifact(file), "region": {"startLine": line}}
    if not words.function:
        return {"physicalLocation": physical}
    function = {"name": _clean(words.function, 200), "kind": "function"}
    return {"physicalLocation": physical, "logicalLocations": [function]}


def _artifact(file: str) -> dict[str, str]:
    raw = file.encode("utf-8", "surrogatepass")
    if file.startswith("/"):
        return {"uri": f"file://{quote(raw)}"}
    return {"uri": quote(raw), "uriBaseId": "%SRCROOT%"}


def _invocation(report: Report, *, left_out: int) -> dict[str, Any]:
    notes = [{"message": {"text": text}, "level": "warning"} for text in _notes(report, left_out)]
    return {"executionSuccessful": True, **({"toolExecutionNotifications": notes} if notes else {})}


def _notes(report: Report, left_out: int) -> Iterator[str]:
    recording = report.recording
    if recording.exit_status:
        yield f"the program {_clean(recording.ended or f'exited {recording.exit_status}', 200)}"
    if not recording.complete:
        yield "a process did not close its recording: counts may be too low"
    damage = sum(len(process.damage) for process in report.processes)
    if damage:
        yield f"the recording is damaged in {count(damage, 'place')}: counts may be too low"
    if left_out:
        yield f"{count(left_out, 'finding')} left out"


def _clean(text: str, most: int) -> str:
    return visible(" ".join(text.split()))[:most]
