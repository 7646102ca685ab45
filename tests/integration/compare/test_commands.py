"""The commands over recordings of the corpus, as a person types them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

CORPUS = Path(__file__).parents[3] / "fixtures" / "corpus" / "recordings"

BASE, HEAD = CORPUS / "02_item_and_tensor_branch.zip", CORPUS / "02_item_and_tensor_branch_fixed.zip"
MISSED = CORPUS / "36_cache_miss_across_processes.zip"
SCHEMA = Path(__file__).parents[3] / "reports" / "schema" / "diff.schema.json"


def test_diff_says_the_verdict_first(command):
    done = command("diff", BASE, HEAD)
    assert (done.returncode, done.stderr) == (0, "")
    first = done.stdout.splitlines()[0]
    assert first.startswith("HEAD is better than BASE: 1 finding gone, 2 fewer graph breaks")
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize(("head", "status"), [(HEAD, 1), (BASE, 0)])
def test_exit_code_is_that_of_a_difference(command, head, status):
    assert command("diff", "--exit-code", BASE, head).returncode == status
    assert command("diff", BASE, head).returncode == 0


def test_the_form_follows_the_suffix_and_no_file_is_lost(command, tmp_path):
    for name, start in (("d.json", "{"), ("d.md", "<!-- compilescope -->"), ("d.html", "<!doctype html>")):
        assert command("diff", BASE, HEAD, "-o", name).returncode == 0
        assert (tmp_path / name).read_text().startswith(start)
        again = command("diff", BASE, HEAD, "-o", name)
        assert (again.returncode, "exists" in again.stderr) == (2, True)
        assert command("diff", BASE, HEAD, "-o", name, "-f").returncode == 0


def test_json_is_valid_and_the_same_every_time(command):
    one, two = (command("diff", BASE, HEAD, "--format", "json").stdout for _ in range(2))
    jsonschema.validate(json.loads(one), json.loads(SCHEMA.read_text()))
    assert one == two


def test_a_recording_that_is_not_there(command):
    done = command("diff", BASE, "nowhere.compilescope")
    assert done.returncode == 2
    assert "nowhere.compilescope" in done.stderr
    assert "Traceback" not in done.stderr


def test_why_miss_names_the_constant_that_changed(command):
    done = command("why-miss", MISSED, MISSED.with_name("36_cache_miss_across_processes_fixed.zip"))
    assert done.returncode == 0
    assert "gm (changed)" in done.stdout
    assert "      - addmm = torch.ops.aten.addmm.default(" in done.stdout
    rows = json.loads(command("why-miss", MISSED, MISSED, "--format", "json").stdout)
    assert {row["status"] for row in rows} == {"same"}


def test_why_miss_of_a_backend_without_caches(command):
    assert "No look-up of a compile cache was recorded" in command("why-miss", BASE, HEAD).stdout


def test_a_report_for_a_comment_and_for_code_scanning(command, tmp_path):
    comment = command("report", BASE, "--format", "markdown")
    assert comment.stdout.startswith("<!-- compilescope -->")
    assert command("report", BASE, "-o", "x.md").returncode == 0
    assert (tmp_path / "x.md").read_text() == comment.stdout
    assert command("report", BASE, "-o", "x.sarif").returncode == 0
    (run,) = json.loads((tmp_path / "x.sarif").read_text())["runs"]
    assert run["results"][0]["ruleId"] == "scalar_read_and_data_dependent_branch"


def test_annotations_and_the_job_summary(command, tmp_path):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    done = command("report", BASE, "--format", "github", GITHUB_STEP_SUMMARY=str(summary))
    assert done.stdout.startswith("::warning file=02_item_and_tensor_branch.py,line=14,")
    assert summary.read_text().startswith("before\n<!-- compilescope -->")
    assert command("report", BASE, "--format", "github").stdout == done.stdout  # nowhere to write: no matter
    asked = command("report", BASE, "-o", "-", "--job-summary")
    assert (asked.returncode, "GITHUB_STEP_SUMMARY" in asked.stderr) == (2, True)


def test_check_marks_the_lines_that_got_worse(command):
    command("check", HEAD, "--write-baseline")
    done = command("check", BASE, "--format", "github")
    assert done.returncode == 1
    assert done.stdout.startswith("::error file=02_item_and_tensor_branch.py,line=14,")
    assert done.stdout.splitlines()[-1].startswith("FAILED: ")


def test_a_trace_by_itself_and_inside_of_another(command, tmp_path):
    assert command("report", BASE, "--format", "perfetto").returncode == 0
    (path,) = tmp_path.glob("compilescope-trace-*.json")
    assert json.loads(path.read_text())["baseTimeNanoseconds"] == 0
    (tmp_path / "t.json").write_text('{"baseTimeNanoseconds": 0, "traceEvents": [{"name": "theirs"}]}')
    done = command("report", BASE, "--format", "perfetto", "--merge", "t.json", "-o", "-")
    assert json.loads(done.stdout)["traceEvents"][0] == {"name": "theirs"}
    (tmp_path / "bad.json").write_text("[1]")
    bad = command("report", BASE, "--format", "perfetto", "--merge", "bad.json", "-o", "-")
    assert (bad.returncode, "is not a trace" in bad.stderr) == (2, True)
    assert command("report", BASE, "--merge", "t.json").returncode == 2
