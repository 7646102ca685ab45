"""``advise`` and ``check`` as a person calls them, over stored recordings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compilescope.cli.advise import command as advise
from compilescope.cli.check import command as check
from compilescope.errors import UsageError

RECORDINGS = Path(__file__).parents[3] / "fixtures" / "corpus" / "recordings"
FAULT, FIXED = (
    str(RECORDINGS / "08_step_counter_attr.zip"),
    str(RECORDINGS / "08_step_counter_attr_fixed.zip"),
)
Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)

    def call(command: object, *words: str) -> Result:
        return CliRunner().invoke(command, words, standalone_mode=False)  # type: ignore[arg-type]

    return call


def test_advice_names_place_cost_and_change_within_the_width(run: Run) -> None:
    result = run(advise, FAULT, "--width", "60")
    lines = result.stdout.splitlines()
    assert lines[0] == "1 [critical] 08_step_counter_attr.py:13"
    assert "4 eager calls (counted)" in " ".join(result.stdout.split())
    assert max(map(len, lines)) <= 60


def test_one_finding_in_full_has_evidence_doubt_and_diff(run: Run) -> None:
    text = run(advise, FAULT, "1").stdout
    for part in (
        "self.calls 0 -> 1 -> ... -> 8",
        "unless",
        "sure     high",
        '+        self.register_buffer("calls"',
    ):
        assert part in text


def test_a_number_that_is_not_there_is_an_error(run: Run) -> None:
    assert isinstance(run(advise, FAULT, "7").exception, UsageError)


def test_nothing_to_fix_says_what_the_run_was_like(run: Run) -> None:
    assert run(advise, FIXED).stdout.startswith("Nothing to fix. Compiling took")


def test_json_is_the_list_of_findings(run: Run) -> None:
    assert json.loads(run(advise, FAULT, "--format", "json").stdout)[0]["rule"] == "module_int_attribute"


def test_a_terminal_cannot_be_driven_by_a_finding() -> None:
    import builders

    from compilescope.advice import advise as advise_report
    from compilescope.cli._findings import finding_text, findings_text

    found = advise_report(builders.hostile())
    texts = [findings_text(found, width=80), *(finding_text(n, f, width=80) for n, f in enumerate(found))]
    assert all(char.isprintable() or char == "\n" for text in texts for char in text)


def test_the_gate_from_no_baseline_to_a_regression(run: Run, tmp_path: Path) -> None:
    first = run(check, FIXED)
    assert first.return_value == 0
    assert "no baseline yet" in first.stdout
    assert run(check, FIXED, "--write-baseline").return_value == 0
    assert json.loads((tmp_path / "compilescope-baseline.json").read_text())["v"] == 1
    assert run(check, FIXED).stdout == "passed: 0 failures, 0 warnings\n"
    worse = run(check, FAULT)
    assert worse.return_value == 1
    assert "new (critical): forward(): self.calls" in worse.stdout
    assert worse.stdout.endswith("\n")


def test_a_named_baseline_and_the_one_of_pyproject(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.compilescope.check]\nbaseline = "known.json"\nrecompiles = 0\n'
    )
    assert run(check, FAULT, "--write-baseline").return_value == 0
    assert (tmp_path / "known.json").exists()
    assert run(check, FAULT, "--write-baseline", "--baseline", "other.json").return_value == 0
    assert (tmp_path / "other.json").exists()
    over = run(check, FAULT)
    assert over.return_value == 1
    assert "recompiles: 7 is more than 0" in over.stdout
