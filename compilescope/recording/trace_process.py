"""One process of a TORCH_TRACE log, with the same interface as one we recorded."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from compilescope.recording.format import PAYLOAD_CAP_BYTES, Record, Ref
from compilescope.recording.phases import PhaseFold
from compilescope.recording.process import ProcessRecording
from compilescope.recording.selection import Selection
from compilescope.recording.source import ByteSource
from compilescope.recording.trace_header import Clock
from compilescope.recording.trace_payload import rebuild
from compilescope.recording.trace_strings import StringTable

CompileId = tuple[int | None, ...]


class TraceProcess(ProcessRecording):
    """Filled while its log is read, once; payloads stay in the log until asked for."""

    kind = "torch_trace"

    def __init__(
        self, process_id: str, source: ByteSource, pid: int, strings: StringTable, year: int
    ) -> None:
        super().__init__(process_id)
        self.head = {"pid": pid, "log": source.name}
        self.strings = strings
        self.inherited_strings: StringTable | None = None
        self.clock = Clock(year)
        self.fold = PhaseFold()
        self.cut = False
        self._source = source
        self._records: list[Record] = []
        self._versions: list[tuple[int, str]] = []
        self._epoch = 0
        self._started: set[CompileId] = set()

    @property
    def rank(self) -> int | None:
        rank = self.head.get("rank")
        return rank if isinstance(rank, int) else None

    @property
    def complete(self) -> bool:
        """False if the log ends in the middle of a record, or of a phase: the process was killed."""
        return not self.cut and not self.fold.open()

    def records(self, wanted: Collection[str] | Selection | None = None) -> Iterator[Record]:
        if isinstance(wanted, Selection):
            wanted.restart()
            yield from filter(wanted.takes, self._records)
            return
        for record in self._records:
            if wanted is None or record.k in wanted:
                yield record

    def file(self, number: int | None) -> str | None:
        if number is None:
            return None
        name = self.strings.get(number)
        if name is None and self.inherited_strings is not None:
            name = self.inherited_strings.get(number)
        return name

    def text(self, value: object) -> str | None:
        if type(value) is not Ref:
            return value if isinstance(value, str) else None
        if value.zlen > PAYLOAD_CAP_BYTES:
            detail = f"a payload of {value.zlen} bytes is larger than the limit of {PAYLOAD_CAP_BYTES}"
            self.note("payload-too-large", value.offset, detail)
            return None
        try:
            body = self._source.pread(value.zlen, value.offset)
        except OSError as error:
            self.note("unreadable", value.offset, error.strerror or str(error))
            return None
        return rebuild(body, value.md5)[0].decode("utf-8", "backslashreplace")

    def note(self, kind: str, offset: int, detail: str) -> None:
        self._damage.add(kind, self._source.name, offset, detail)

    def append(self, record: Record) -> None:
        self._records.append(record)

    def epoch_of(self, kind: str, compile_id: CompileId, attempt: int) -> int:
        """``torch._dynamo.reset()`` leaves no event: a first attempt at a known compile id tells of it."""
        if kind == "dynamo_start" and attempt == 0:
            if compile_id in self._started:
                self._epoch += 1
                self._started.clear()
            self._started.add(compile_id)
        return self._epoch

    def finish(self, offset: int) -> None:
        """The log has ended at ``offset``."""
        for thread in self.fold.threads():
            self.append_phases(self.fold.flush(thread), None, None, None, offset)
        for thread, stack in self.fold.open().items():
            self.append(Record("open", None, None, None, thread, {}, None, stack, {}, offset))
        if lost := self.fold.unmatched + self.fold.unclosed:
            self.note("unmatched-phases", offset, f"{lost} phases have a begin or an end only")
        shift_ns = self.clock.shift_or_local_s() * 1_000_000_000
        for record in self._records:
            if record.t is not None:
                record.t += shift_ns

    def append_phases(
        self, batch: dict[str, Any] | None, c: CompileId | None, ca: int | None, t: int | None, offset: int
    ) -> None:
        if batch is not None:
            thread = batch.pop("th")
            self.append(Record("phases", c, ca, t, thread, {}, None, None, batch, offset))

    def learn_versions(self, payload: bytes) -> None:
        """From the ``torch_version`` artifact."""
        try:
            facts = msgspec.json.decode(payload)
        except msgspec.DecodeError:
            return
        if type(facts) is dict and isinstance(facts.get("pytorch_version"), str):
            self._versions.append((len(self._records), facts["pytorch_version"]))
            self.head.setdefault("versions", {"torch": facts["pytorch_version"]})

    def hand_over(self, successor: TraceProcess) -> None:
        """A successor's first records tell its version of torch, and come before its string table begins."""
        if len(self._versions) < 2:
            return
        start, version = self._versions.pop()
        successor._versions.append((0, version))
        successor.head["versions"] = {"torch": version}
        successor._records += self._records[start:]
        del self._records[start:]
