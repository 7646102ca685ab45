"""What is compared: the report of a run, its findings, and the cache look-ups that a report does not list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from compilescope.advice import Finding, examine
from compilescope.advice.details import sources_of
from compilescope.analysis.report import Report
from compilescope.model import CompileId, Run
from compilescope.model.inductor import Lookup


@dataclass(frozen=True, slots=True)
class CompileLookup:
    """One look-up of a compile cache and the compile that made it. Its text is read when asked for."""

    process: str
    compile: CompileId | None
    lookup: Lookup


@dataclass(frozen=True, slots=True)
class Recorded:
    """``sources`` maps file names as the report writes them to their text: they tell methods apart."""

    report: Report
    findings: Sequence[Finding]
    sources: Mapping[str, str] = field(default_factory=dict)
    lookups: Sequence[CompileLookup] = ()


def recorded(run: Run) -> Recorded:
    """Everything :func:`compare` needs of a run that was loaded with its detail."""
    report, findings = examine(run)
    return Recorded(report, findings, sources_of(run), tuple(_lookups(run)))


def _lookups(run: Run) -> Iterator[CompileLookup]:
    for process in run.processes:
        facts = process.detail.inductor if process.detail is not None else None
        for lookup in facts.lookups if facts is not None else ():
            key = lookup.key
            compile_id = CompileId(key[1], key[2], key[3], key[0]) if key is not None else None
            yield CompileLookup(process.id, compile_id, lookup)
