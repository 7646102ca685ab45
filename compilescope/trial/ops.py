"""``compilescope verify --check-ops``: are the custom operators of a program what their schemas say?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from compilescope.advice import Finding, examine, findings_json
from compilescope.advice.op_check import PASSED, OpCheck
from compilescope.advice.verdicts import op_check_of, write_op_checks
from compilescope.analysis.paths import Paths
from compilescope.launch import Target
from compilescope.model import load
from compilescope.recording import Recording, open_recording
from compilescope.trial.changes import Change
from compilescope.trial.runs import Side, run_by_turns
from compilescope.units import count, visible

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class CheckedOps:
    """``findings`` are those about custom operators; ``notes`` say what could not be checked."""

    checks: tuple[OpCheck, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]


def check_ops(recording: Path, target: Target, folder: Path, say: Callable[[str], None]) -> CheckedOps:
    """Run ``target`` once, into ``folder``; what is found is kept beside ``recording``.

    Operators are called with arguments that the program gave them, after it has ended. Raises UsageError and
    RecordingError.
    """
    target.check()
    ((measured,),) = run_by_turns((Side("checked", target, Change(check_ops=True)),), 1, folder, say)
    checked = open_recording(folder / "checked-1.compilescope")
    checks = _checks(checked)
    try:
        write_op_checks(recording, checks)
    except OSError as problem:
        say(f"the results could not be kept beside {recording}: {problem.strerror or problem}")
    write_op_checks(checked.path, checks)
    _, found = examine(load(open_recording(checked.path)))
    ops = {check.op for check in checks}
    own = tuple(f for f in found if f.identity.rpartition("|")[2] in ops)
    notes = [*measured.problems]
    notes += [f"the program ended with status {measured.exit_status}"] if measured.exit_status else []
    notes += [] if checks else ["the program called no custom operator from Python, or left without an exit"]
    return CheckedOps(tuple(checks), own, tuple(notes))


def _checks(recording: Recording) -> list[OpCheck]:
    """One an operator, from all processes: what failed in one of them failed."""
    found: dict[str, OpCheck] = {}
    cwd = recording.run.get("cwd") if recording.run else None
    paths = Paths(cwd if isinstance(cwd, str) else None)
    for process in recording.processes:
        for record in process.records(("op_check",)):
            check = op_check_of(_readable(process, record.m))
            if check is None:
                continue
            known = found.get(check.op)
            if known is not None:
                worse = {t: r for t, r in check.results.items() if known.results.get(t, PASSED) == PASSED}
                check = replace(known, calls=known.calls + check.calls, results={**known.results, **worse})
            elif check.file is not None:
                check = replace(check, file=paths.show(str(Path(check.file).absolute())))
            found[check.op] = check
    return list(found.values())


def _readable(process: Any, told: dict[str, Any]) -> dict[str, Any]:
    """Long texts lie in the pack."""
    results = told.get("results")
    texts = {k: process.text(v) for k, v in results.items()} if isinstance(results, dict) else {}
    return {**told, "schema": process.text(told.get("schema")), "results": texts}


def ops_json(checked: CheckedOps) -> dict[str, Any]:
    return {
        "format_version": FORMAT_VERSION,
        "ops": [asdict(check) for check in checked.checks],
        "findings": findings_json(list(checked.findings)),
        "notes": list(checked.notes),
    }


def ops_text(checked: CheckedOps) -> str:
    """A line an operator, then what is wrong with it."""
    rows = [_row(check) for check in checked.checks]
    rows += [f"note: {visible(note)}" for note in checked.notes]
    for finding in checked.findings:
        rows += ["", f"[{finding.severity}] {visible(finding.place)}  {finding.rule}"]
        rows += [f"  {visible(finding.summary)}", f"  fix: {visible(finding.fix)}"]
        rows += [f"  {visible(note)}" for note in finding.evidence.notes]
    return "\n".join(rows) + "\n"


def _row(check: OpCheck) -> str:
    failed: Sequence[str] = [test for test in check.results if check.failure(test)]
    told = f"fails {', '.join(failed)}" if failed else "ok" if check.results else "not checked"
    return f"{visible(check.op):30} {count(check.calls, 'call'):>12}  {told}"
