"""Recording -> Run: the one place where records become values."""

from __future__ import annotations

from collections.abc import Mapping

from compilescope.model._fields import mapping
from compilescope.model._process import ProcessBuilder
from compilescope.model.values import Hole, Process, Run
from compilescope.recording import ProcessRecording, Recording


def load(recording: Recording) -> Run:
    """Read every process of ``recording`` once. Damage is kept as holes; bad records do not raise."""
    processes = tuple(_read(process) for process in recording.processes)
    holes = tuple(Hole(d.kind, d.where, d.detail) for d in recording.damage)
    launch: Mapping[str, object] = mapping(recording.run)
    return Run(str(recording.path), recording.size_bytes, launch, processes, holes)


def _read(source: ProcessRecording) -> Process:
    builder = ProcessBuilder(source)
    for record in source.records():
        builder.add(record)
    return builder.finish()
