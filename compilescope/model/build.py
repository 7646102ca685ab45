"""Recording -> Run: the one place where records become values."""

from __future__ import annotations

from collections.abc import Mapping

from compilescope.model._fields import mapping
from compilescope.model._process import ProcessBuilder
from compilescope.model.values import Hole, Process, Run
from compilescope.recording import ProcessRecording, Recording


def load(recording: Recording, *, detail: bool = True) -> Run:
    """Read every process of ``recording`` once. Damage is kept as holes; bad records do not raise.

    Without ``detail`` records that only it needs are passed over: no phases, symbols, kernels or lists of
    guards. Damage, and records of kinds this version does not know, are counted all the same.
    """
    processes = tuple(_read(process, detail) for process in recording.processes)
    holes = tuple(Hole(d.kind, d.where, d.detail) for d in recording.damage)
    launch: Mapping[str, object] = mapping(recording.run)
    return Run(str(recording.path), recording.size_bytes, launch, processes, holes)


def _read(source: ProcessRecording, detail: bool) -> Process:
    builder = ProcessBuilder(source, detail=detail)
    wanted = builder.wanted()
    for record in source.records(wanted):
        builder.add(record)
    builder.passed_over(wanted)
    return builder.finish()
