"""The carrier: a handler on torch's structured trace logger, which sees nearly every compile-time fact.

torch builds each record whenever any handler is attached; ours writes it at once, so that a killed
process loses nothing. It stands first in the list, because torch's own lazy handler removes itself while
the list is walked and the next handler would miss that record.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import msgspec

from compilescope.capture._session import Session
from compilescope.capture._stacks import Stacks
from compilescope.recording.phases import PhaseFold

_ENVELOPE = frozenset(
    {
        "rank",
        "compiled_autograd_id",
        "frame_id",
        "frame_compile_id",
        "attempt",
        "subgraph_name",
        "has_payload",
        "stack",
    }
)

# Text that only repeats what another record of the same compile holds, or that no view reads: about two
# thirds of a compile's records. torch builds it either way; it is not stored.
DECLINED_EVENTS = frozenset({"describe_storage", "describe_tensor", "describe_source", "str"})
DECLINED_ARTIFACTS = frozenset(
    {
        "fx_graph_runnable",
        "before_pre_grad_graph",
        "after_pre_grad_graph",
        "before_joint_graph",
        "after_joint_graph",
        "before_post_grad_graph",
        "torch._functorch.config",
        "backward_prologue",
        "backward_epilogue",
        "compiled_function_forward",
        "compiled_function_backward",
        "compiled_fn_wrapper",
        "mutation_epilogue",
        "runtime_wrapper_orchestration",
        "aot_autograd_runtime_wrappers",
    }
)


class TraceHandler(logging.Handler):
    """Writes torch's trace records. Never raises: an exception here would come out of the user's call."""

    def __init__(self, session: Session, stacks: Stacks) -> None:
        super().__init__(logging.DEBUG)
        self._session = session
        self._stacks = stacks
        self._phases = PhaseFold()
        self._phases_lock = threading.Lock()
        self._file_ids: dict[int, int] = {}  # torch's interned file id -> the recording's
        self._started: set[tuple[Any, ...]] = set()
        self._named: dict[int, str | None] = {}
        self._rank: int | None = None
        self.on_start: Callable[[], None] = lambda: None  # a compile begins

    def emit(self, record: logging.LogRecord) -> None:
        if self._session.active:
            self._session.safely(self._write, record)

    def handle(self, record: logging.LogRecord) -> bool:
        # No lock: the writer has its own, and two threads compiling at once must not wait for each other.
        self.emit(record)
        return True

    def open_phases(self) -> dict[int, list[list[Any]]]:
        with self._phases_lock:
            return self._phases.open()

    def flush_phases(self) -> None:
        with self._phases_lock:
            gathered = [self._phases.flush(thread) for thread in self._phases.threads()]
        for rows in gathered:
            self._write_rows(rows)

    def forked(self) -> None:
        """A forked child starts its own recording: what the parent had open is the parent's."""
        self._phases = PhaseFold()
        self._phases_lock = threading.Lock()
        self._file_ids.clear()
        self._named.clear()
        self._rank = None

    def reset_epoch(self) -> None:
        self._session.epoch += 1
        self._started.clear()

    def _write(self, record: logging.LogRecord) -> None:
        envelope: dict[str, Any] | None = getattr(record, "metadata", None)
        if not envelope:
            return
        name = next((key for key in envelope if key not in _ENVELOPE), None)
        if name is None:
            return
        body = envelope[name]
        if name == "str":
            self._file_ids[body[1]] = self._stacks.file_id(body[0])
        if name == "chromium_event":
            self._phase(record, envelope)
        elif not _declined(name, body):
            self._event(name, body, envelope, record)

    def _event(self, name: str, body: Any, envelope: dict[str, Any], record: logging.LogRecord) -> None:
        c = self._compile_id(name, envelope)
        fields: dict[str, Any] = {"m": self._with_files(body)}
        if "stack" in envelope:
            fields["stack"] = self._frames(envelope["stack"])
        if "subgraph_name" in envelope:
            fields["subgraph"] = envelope["subgraph_name"]
        if name == "dynamo_start":
            fields["call"] = self._stacks.user_frames()
            self._name_thread(record.thread)
            self.on_start()
        self._note_rank(envelope)
        payload = getattr(record, "payload", None)
        kind = f"artifact.{body.get('name')}" if name == "artifact" and isinstance(body, dict) else name
        self._session.writer.record(
            name,
            fields,
            c=c,
            ca=envelope.get("compiled_autograd_id"),
            payload=payload,
            payload_kind=kind,
            md5=envelope.get("has_payload"),
        )

    def _name_thread(self, ident: int | None) -> None:
        """Whenever an ident is somebody else's: they are used again after a thread has ended.

        ``threading.current_thread()`` would register a foreign thread in the program's own list.
        """
        if ident is None:
            return
        thread = threading._active.get(ident)  # type: ignore[attr-defined]
        name = None if thread is None else thread.name
        if self._named.get(ident, "") != name:
            self._named[ident] = name
            self._session.writer.record("thread", {"m": {"ident": ident, "name": name}})

    def _compile_id(self, name: str, envelope: dict[str, Any]) -> tuple[Any, ...] | None:
        if "frame_id" not in envelope and "compiled_autograd_id" not in envelope:
            return None
        frame, recompile = envelope.get("frame_id"), envelope.get("frame_compile_id")
        attempt = envelope.get("attempt") or 0
        if name == "dynamo_start" and attempt == 0:
            # torch._dynamo.reset() may have been called through a name we could not patch.
            key = (envelope.get("compiled_autograd_id"), frame, recompile)
            if key in self._started:
                self.reset_epoch()
            self._started.add(key)
        c = (frame, recompile, attempt, self._session.epoch)
        conversions = self._session.thread.conversions
        if conversions:
            conversions[-1].compile_id = c
        return c

    def _note_rank(self, envelope: dict[str, Any]) -> None:
        rank = envelope.get("rank")
        if rank is not None and rank != self._rank:
            self._rank = rank
            self._session.writer.record("process", {"m": {"rank": rank}})

    def _phase(self, record: logging.LogRecord, envelope: dict[str, Any]) -> None:
        event = msgspec.json.decode(record.payload)  # type: ignore[attr-defined]
        with self._phases_lock:
            rows = self._phases.feed(event, record.thread or 0)
        self._write_rows(rows)
        self._compile_id("chromium_event", envelope)

    def _write_rows(self, fields: dict[str, Any] | None) -> None:
        if fields:
            self._session.writer.record("phases", fields)

    def _with_files(self, body: Any) -> Any:
        """The event's own fields, with torch's file ids replaced by the recording's in its stacks."""
        if not isinstance(body, dict):
            return body
        changed = {key: self._frames(body[key]) for key in ("stack", "user_stack") if body.get(key)}
        return {**body, **changed} if changed else body

    def _frames(self, frames: Any) -> Any:
        if not isinstance(frames, list):
            return frames
        return [
            {**frame, "filename": self._file(frame["filename"])}
            if isinstance(frame, dict) and isinstance(frame.get("filename"), int)
            else frame
            for frame in frames
        ]

    def _file(self, torch_id: int) -> int:
        known = self._file_ids.get(torch_id)
        if known is not None or torch_id < 0:
            return -1 if known is None else known
        from torch._logging.structured import INTERN_TABLE  # a late handler missed the `str` records

        for path, number in list(INTERN_TABLE.items()):
            if number not in self._file_ids:
                self._file_ids[number] = self._stacks.file_id(path)
        return self._file_ids.get(torch_id, -1)


def _declined(name: str, body: Any) -> bool:
    if name in DECLINED_EVENTS:
        return True
    return name == "artifact" and isinstance(body, dict) and body.get("name") in DECLINED_ARTIFACTS


def install(handler: TraceHandler) -> None:
    """Put the handler first, on a logger that a global ``logging.disable`` cannot mute."""
    trace_log = logging.getLogger("torch.__trace")
    trace_log.handlers.insert(0, handler)
    if "isEnabledFor" not in vars(trace_log) and type(trace_log).isEnabledFor is logging.Logger.isEnabledFor:
        trace_log.isEnabledFor = lambda level: level >= trace_log.level  # type: ignore[method-assign]
        trace_log._compilescope_enabled = True  # type: ignore[attr-defined]


def uninstall(handler: TraceHandler) -> None:
    trace_log = logging.getLogger("torch.__trace")
    if handler in trace_log.handlers:
        trace_log.handlers.remove(handler)
    if vars(trace_log).pop("_compilescope_enabled", False):
        del trace_log.isEnabledFor
