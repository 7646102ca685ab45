from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import builders
import jsonschema
import pytest

from compilescope.advice.catalog import catalog
from compilescope.views.sarif import render
from compilescope.views.sarif._rules import page, rule

SCHEMA = Path(__file__).parents[3] / "fixtures" / "schemas" / "sarif-2.1.0-rtm.5.json"


@pytest.fixture(scope="module")
def validator():
    return jsonschema.Draft4Validator(json.loads(SCHEMA.read_text()))


def run_of(report):
    (run,) = json.loads(render(report, version="1.2.3"))["runs"]
    return run


@pytest.mark.parametrize("build", builders.ALL)
def test_every_report_is_valid_sarif(build, validator):
    text = render(build(), version="1.2.3")
    validator.validate(json.loads(text))
    assert text.isascii()
    assert text == render(build(), version="1.2.3")


def test_a_result_has_its_place_rule_and_level():
    run = run_of(builders.rich())
    result = run["results"][0]
    assert result["ruleId"] == run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "container_growth"
    assert result["level"] == "error"
    physical = result["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "24_history_grows.py", "uriBaseId": "%SRCROOT%"}
    assert physical["region"] == {"startLine": 8}


def test_an_alert_survives_moved_lines_and_not_another_cause():
    report = builders.rich()
    first = report.findings[0]
    before, after, other = (
        run_of(replace(report, findings=[first | change]))["results"][0]["partialFingerprints"]
        for change in ({}, {"line": 99, "summary": "told in other words"}, {"identity": "another"})
    )
    assert before == after
    assert before != other


def test_every_rule_has_its_page():
    for slug in catalog():
        described = rule(slug)
        assert described["help"]["markdown"].startswith("# "), slug
        assert described["shortDescription"]["text"].endswith((".", "?", ":")), slug


@pytest.mark.parametrize("slug", ["../gate", "no_such_rule", "", "a/b"])
def test_a_rule_without_a_page_has_a_name(slug):
    assert page(slug) is None
    assert "help" not in rule(slug)


def test_a_finding_without_a_file_is_shown_at_the_top_of_the_program():
    report = builders.rich()
    finding = report.findings[0] | {"file": None}
    (result,) = run_of(replace(report, findings=[finding]))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "train.py"
    report = replace(report, recording=replace(report.recording, name="-c"), findings=[finding])
    assert "locations" not in run_of(report)["results"][0]


@pytest.mark.parametrize("file", ["a b/ü%20.py", "../up.py", "c:d.py", "/abs/a.py"])
def test_a_path_is_a_uri_and_can_be_read_back(file):
    report = builders.rich()
    run = run_of(replace(report, findings=[report.findings[0] | {"file": file}]))
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.isascii()
    assert " " not in uri
    assert unquote(uri.removeprefix("file://")) == file


def test_no_message_becomes_a_link():
    report = builders.rich()
    finding = report.findings[0] | {"summary": "[click](javascript:1)", "fix": "[x](y)"}
    message = run_of(replace(report, findings=[finding]))["results"][0]["message"]["text"]
    assert "](" not in message


def test_what_is_doubtful_and_what_is_left_out_is_a_notification(monkeypatch):
    monkeypatch.setattr("compilescope.views.sarif._render.MOST_RESULTS", 2)
    run = run_of(builders.rich())
    assert len(run["results"]) == 2
    notes = [n["message"]["text"] for n in run["invocations"][0]["toolExecutionNotifications"]]
    assert notes == [
        "the program killed by SIGKILL",
        "a process did not close its recording: counts may be too low",
        "the recording is damaged in 1 place: counts may be too low",
        f"{len(builders.rich().findings) - 2} findings left out",
    ]
