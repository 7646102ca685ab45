"""A recording as a notebook shows it: with findings, sources and texts, and cells under their own names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compilescope.analysis.report import Missing, Report
    from compilescope.model.documents import Document


@dataclass(frozen=True, slots=True)
class Read:
    report: Report
    sources: dict[str, str]
    documents: list[Document]


def read(path: Path, cells: Mapping[str, str], ended: str) -> Read:
    """Raises RecordingError. ``cells``: what stands instead of the file names of cells.

    ``ended`` says how the block ended: no program did, so that nobody could have seen its exit status.
    """
    from compilescope.advice import examine, worst_from_findings
    from compilescope.advice.details import sources_of
    from compilescope.model import load
    from compilescope.model.documents import documents_of
    from compilescope.recording import open_recording

    opened = open_recording(path)
    run = load(opened)
    report, found = examine(run)
    report = _of_a_block(replace(report, worst=worst_from_findings(found)), ended)
    sources = sources_of(run)
    named = {file: name for file, name in cells.items() if file in sources}
    report = _without_machinery(_renamed(report, named), set(named.values())) if named else report
    texts = {named.get(file, file): text for file, text in sources.items()}
    return Read(report, texts, documents_of(opened))


def _of_a_block(report: Report, ended: str) -> Report:
    def known(missing: list[Missing]) -> list[Missing]:
        return [fact for fact in missing if fact.fact != "exit_status"]

    recording = replace(report.recording, ended=ended, missing=known(report.recording.missing))
    return replace(report, missing=known(report.missing), recording=recording)


def _without_machinery(report: Report, cells: set[str]) -> Report:
    """Call paths from the first cell on: what the kernel does to run one says nothing."""

    def cut(path: list[str]) -> list[str]:
        starts = [index for index, step in enumerate(path) if step.rpartition(":")[0] in cells]
        return path[starts[0] :] if starts else path

    breaks = [replace(each, call_path=cut(each.call_path)) for each in report.graph_breaks]
    return replace(report, graph_breaks=breaks)


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """``value`` with every text that holds a file name holding the cell's name instead."""
    if isinstance(value, str):
        for file, name in names.items():
            if file in value:
                value = value.replace(file, name)
        return value
    if isinstance(value, dict):
        return {_renamed(key, names): _renamed(item, names) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_renamed(item, names) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _renamed(getattr(value, f.name), names) for f in fields(value)})
    return value
