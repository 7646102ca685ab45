"""Reads one TORCH_TRACE log into its processes: mostly one, but logs get joined and ranks interleaved."""

from __future__ import annotations

from typing import Any

from compilescope.recording.damage import DamageLog
from compilescope.recording.format import Record, Ref
from compilescope.recording.source import ByteSource
from compilescope.recording.trace_chromium import decode_chromium
from compilescope.recording.trace_header import HEADER, ID_KEYS, SEARCHED_BYTES, decode_envelope
from compilescope.recording.trace_payload import rebuild
from compilescope.recording.trace_process import TraceProcess
from compilescope.recording.trace_processes import TraceProcesses

_LONG_CHARS = 200
_MAX_SHARED = 10_000
_ENCODINGS = ("string", "json")


class TraceLog:
    """The handler of a ``BlockSplitter``. ``damage`` is that of no process in particular."""

    def __init__(self, source: ByteSource, year: int) -> None:
        self.damage = DamageLog()
        self._source = source
        self._processes = TraceProcesses(source, year, self.damage)
        self._shared: dict[str, str] = {}
        self._previous_header = b""

    @property
    def processes(self) -> list[TraceProcess]:
        return self._processes.all

    def finish(self, offset: int) -> None:
        for process in self.processes:
            process.finish(offset)

    def block(
        self, buffer: bytes, base: int, header: int, header_end: int, body: int, body_end: int, at_eof: bool
    ) -> None:
        offset = base + header
        parsed = self._parse(buffer, offset, header, header_end, body_end - body, at_eof)
        if parsed is None:
            return
        event, minute, second, micro, pid = parsed
        content = None
        digest = event.get("has_payload")
        process = self._processes.of(pid, event.get("rank"), offset)
        if digest is not None and body_end > body:
            content, exact = rebuild(buffer[body:body_end], digest if isinstance(digest, str) else "")
            if not exact:
                self._note_inexact(process, event, offset, body_end - body, at_eof)
        elif digest is not None:
            process.cut |= at_eof
            process.note("payload-missing", offset, f"the payload of {_name(event)}")
        elif body_end > body:
            detail = f"{body_end - body} bytes of payload that {_name(event)} does not announce"
            process.note("payload-unannounced", offset, detail)
        t = process.clock.stamp_ns(minute, second, micro)
        if self._is_repeated(buffer[header:header_end], process, event, offset):
            return
        self._take(process, event, t, offset, base + body, body_end - body, content)

    def streamed(self, header: bytes, offset: int, body: int, size: int, md5: str, at_eof: bool) -> None:
        parsed = self._parse(header, offset, 0, len(header), size, at_eof)
        if parsed is None:
            return
        event, minute, second, micro, pid = parsed
        process = self._processes.of(pid, event.get("rank"), offset)
        if event.get("has_payload") is None:
            process.note("payload-unannounced", offset, f"{size} bytes that {_name(event)} does not announce")
        elif event["has_payload"] != md5:
            self._note_inexact(process, event, offset, size, at_eof)
        t = process.clock.stamp_ns(minute, second, micro)
        self._take(process, event, t, offset, body, size, None)

    def too_long(self, offset: int, size: int) -> None:
        self.damage.add(
            "line-too-long", self._source.name, offset, f"a line of {size} bytes without a payload"
        )

    def _parse(
        self, buffer: bytes, offset: int, start: int, end: int, body_bytes: int, at_eof: bool
    ) -> tuple[dict[str, Any], bytes, bytes, bytes, bytes] | None:
        found = HEADER.search(buffer, start, min(end, start + SEARCHED_BYTES))
        if found is None:
            self._note_foreign(
                buffer[start : min(end, start + 60)], offset, end - start + body_bytes, at_eof, body_bytes
            )
            return None
        try:
            event = decode_envelope(memoryview(buffer)[found.end() : end])
        except (ValueError, RecursionError):
            cut = at_eof and not body_bytes
            lost = f"{end - start} bytes of header and {body_bytes} of payload"
            self.damage.add("cut-record" if cut else "bad-json", self._source.name, offset, lost)
            self._mark_cut(at_eof)
            return None
        if type(event) is not dict:
            self.damage.add("not-an-object", self._source.name, offset, f"a record of {end - start} bytes")
            return None
        minute, second, micro, pid = found.groups()
        return event, minute, second, micro, pid

    def _note_foreign(self, start: bytes, offset: int, size: int, at_eof: bool, body_bytes: int) -> None:
        name = self._source.name
        if start[:1] == b"\t":
            self.damage.add("orphan-payload", name, offset, f"{size} bytes of payload without their record")
        elif at_eof and start[:1] in b"VIWEC" and start[1:5].isdigit():
            self.damage.add("cut-record", name, offset, f"the last record is cut after {size} bytes")
            self._mark_cut(at_eof)
        elif body_bytes:
            self.damage.add("bad-header", name, offset, f"a record of {size} bytes")
        else:
            self.damage.add(
                "foreign-line", name, offset, f"a line that is no record: {start.decode('latin-1')!a}"
            )

    def _mark_cut(self, at_eof: bool) -> None:
        if at_eof and self.processes:
            self.processes[-1].cut = True

    def _note_inexact(
        self, process: TraceProcess, event: dict[str, Any], offset: int, size: int, at_eof: bool
    ) -> None:
        if at_eof:
            process.cut = True
            process.note(
                "payload-cut", offset, f"the log ends after {size} bytes of the payload of {_name(event)}"
            )
        else:
            process.note("payload-hash", offset, f"the payload of {_name(event)} is not what torch wrote")

    def _is_repeated(self, header: bytes, process: TraceProcess, event: dict[str, Any], offset: int) -> bool:
        """Torch stamps every record; a collector that delivers twice repeats the stamp and all behind it."""
        repeated = header == self._previous_header
        self._previous_header = header
        if repeated:
            process.note("duplicate-record", offset, f"{_name(event)}, the same as the record before")
        return repeated

    def _take(
        self,
        process: TraceProcess,
        event: dict[str, Any],
        t: int,
        offset: int,
        body: int,
        size: int,
        content: bytes | None,
    ) -> None:
        kind, extra = None, {}
        for key in event:
            if key not in ID_KEYS:
                if kind is None:
                    kind = key
                else:
                    extra[key] = event[key]
        if kind == "str":
            self._processes.learn_string(process, event["str"], offset)
            return
        if kind is None:
            process.note("no-event", offset, "a record that names no event")
            return
        c, ca = self._compile_id(process, kind, event, offset)
        if kind == "chromium_event":
            if content is None and size:
                process.note("bad-chromium", offset, f"a phase of {size} bytes")
            self._take_chromium(process, content, c, ca, t, offset)
            return
        if "subgraph_name" in event:
            extra["subgraph"] = event["subgraph_name"]
        m = self._metadata(event[kind])
        ref = None
        if size and event.get("has_payload") is not None:
            length = size if content is None else len(content)
            ref = Ref(body, size, length, str(event["has_payload"]))
        if kind == "artifact":
            self._look_at_artifact(process, m, content, offset)
        stack = event.get("stack")
        process.append(
            Record(kind, c, ca, t, None, m, ref, stack if type(stack) is list else None, extra, offset)
        )

    def _take_chromium(
        self,
        process: TraceProcess,
        content: bytes | None,
        c: tuple[int | None, ...] | None,
        ca: int | None,
        t: int,
        offset: int,
    ) -> None:
        if content is None:
            return
        try:
            event, thread = decode_chromium(content)
            batch = process.fold.feed(event, thread)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            process.note("bad-chromium", offset, f"a phase: {str(error)[:200]}")
            return
        if process.clock.shift_s is None:
            process.clock.calibrate(t, event["ts"])
        process.append_phases(batch, c, ca, t, offset)

    def _compile_id(
        self, process: TraceProcess, kind: str, event: dict[str, Any], offset: int
    ) -> tuple[tuple[int | None, ...] | None, int | None]:
        ca, frame, recompile = (
            event.get("compiled_autograd_id"),
            event.get("frame_id"),
            event.get("frame_compile_id"),
        )
        attempt = event.get("attempt", 0)
        for part in (ca, frame, recompile, attempt):
            if part is not None and type(part) is not int:
                process.note("bad-field", offset, f"the compile id of {kind!r} is not made of numbers")
                return None, None
        epoch = process.epoch_of(kind, (ca, frame, recompile), attempt or 0)
        if frame is None and recompile is None:
            return None, ca
        return (frame, recompile, attempt or 0, epoch), ca

    def _metadata(self, value: Any) -> dict[str, Any]:
        if type(value) is not dict:
            return {"value": value}
        shared = self._shared
        kept = {}
        for key, item in value.items():
            if item is None:
                continue
            if type(item) is str and len(item) >= _LONG_CHARS and len(shared) < _MAX_SHARED:
                # Every compile repeats the process's configuration, 30 kB of it.
                item = shared.setdefault(item, item)
            kept[key] = item
        return kept

    def _look_at_artifact(
        self, process: TraceProcess, m: dict[str, Any], content: bytes | None, offset: int
    ) -> None:
        if m.get("encoding") not in _ENCODINGS:
            name = str(m.get("name"))[:100]
            detail = f"artifact {name!r} has an unknown encoding and is kept as text"
            process.note("unknown-encoding", offset, detail)
        if m.get("name") == "torch_version" and content is not None:
            process.learn_versions(content)


def _name(event: dict[str, Any]) -> str:
    kind = next((key for key in event if key not in ID_KEYS), "?")
    value = event.get(kind)
    name = value.get("name") if kind == "artifact" and type(value) is dict else None
    return f"{kind} {name!r}"[:120] if isinstance(name, str) else kind[:120]
