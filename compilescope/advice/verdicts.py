"""What trials found out about findings: a small file beside the recording, so that every view shows it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from compilescope.advice.finding import Finding, Saving, Verification
from compilescope.advice.op_check import OpCheck

FORMAT_VERSION = 1
_NAME = "verdicts.json"
_CAP_BYTES = 4 << 20
_WORDS = ("verified", "no effect", "harmful")


def verdicts_file(recording: Path) -> Path:
    """In a recording's folder; beside a packed one, or a log: under a name that is not taken for a log."""
    if recording.is_dir():
        return recording / _NAME
    return recording.with_name(f"verdicts.{recording.name}.json")


def read_verdicts(recording: Path) -> dict[str, Verification]:
    """By identity of the finding. Nothing where there is no file, or none that can be understood: it was
    derived from runs, and a next trial writes it again.
    """
    found = _read(recording).get("findings")
    told = found.items() if isinstance(found, dict) else ()
    made = {identity: _verification(fields) for identity, fields in told}
    return {identity: verification for identity, verification in made.items() if verification is not None}


def read_op_checks(recording: Path) -> list[OpCheck]:
    """What ``verify --check-ops`` found; empty where it was not run."""
    made = (op_check_of(told) for told in _listed(_read(recording).get("ops")))
    return [check for check in made if check is not None]


def _read(recording: Path) -> dict[str, Any]:
    file = verdicts_file(recording)
    try:
        if file.stat().st_size > _CAP_BYTES:
            return {}
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) and data.get("v") == FORMAT_VERSION else {}


def write_verdicts(recording: Path, new: Mapping[str, Verification]) -> Path:
    """Add to what is known; newer verdicts replace older ones. Raises OSError."""
    known = {**read_verdicts(recording), **new}
    told = {identity: asdict(known[identity]) for identity in sorted(known)}
    return _write(recording, {**_read(recording), "findings": told})


def write_op_checks(recording: Path, checks: Sequence[OpCheck]) -> Path:
    """In place of those of an earlier trial. Raises OSError."""
    return _write(recording, {**_read(recording), "ops": [asdict(check) for check in checks]})


def _write(recording: Path, known: Mapping[str, Any]) -> Path:
    file = verdicts_file(recording)
    data = {**known, "v": FORMAT_VERSION}
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        beside.write_text(json.dumps(data, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)
    return file


def with_verdicts(findings: Iterable[Finding], known: Mapping[str, Verification]) -> list[Finding]:
    """Where steps got shorter, that is the saving of further steps: measured, where it was unknown before."""
    return [_tried(f, known[f.identity]) if f.identity in known else f for f in findings]


def _tried(finding: Finding, told: Verification) -> Finding:
    before, after = told.before.get("step_s"), told.after.get("step_s")
    if told.word != "verified" or not told.is_fix or before is None or after is None or after >= before:
        return replace(finding, verification=told)
    known = finding.saving
    basis = "measured by a trial: the steady step without and with the change"
    saving = Saving(
        known.seconds if known else None,
        round((before - after) * 1000, 6),
        f"{known.basis}; further steps {basis}" if known else basis,
    )
    return replace(finding, verification=told, saving=saving)


def _verification(told: Any) -> Verification | None:
    if not isinstance(told, dict) or told.get("word") not in _WORDS:
        return None
    return Verification(
        word=told["word"],
        reason=str(told.get("reason") or ""),
        change=tuple(str(phrase) for phrase in _listed(told.get("change"))),
        before=_figures(told.get("before")),
        after=_figures(told.get("after")),
        is_fix=told.get("is_fix") if isinstance(told.get("is_fix"), bool) else None,
        at=str(told["at"]) if told.get("at") else None,
    )


def op_check_of(told: Any) -> OpCheck | None:
    """From a record, or from the file. None for what is none."""
    if not isinstance(told, dict) or not isinstance(told.get("op"), str):
        return None
    schema, file, function, called = (
        told[key] if isinstance(told.get(key), str) else None
        for key in ("schema", "file", "function", "called")
    )
    line, calls = (told[key] if isinstance(told.get(key), int) else None for key in ("line", "calls"))
    results = told.get("results")
    texts = {str(k): str(v) for k, v in results.items()} if isinstance(results, dict) else {}
    return OpCheck(told["op"], schema, file, line, function, called, calls or 0, texts)


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _figures(value: Any) -> dict[str, float]:
    known = value.items() if isinstance(value, dict) else ()
    return {str(k): v for k, v in known if isinstance(v, int | float) and not isinstance(v, bool) and v == v}
