"""Which graph a record is about, where compiled autograd gives frames an id of its own."""

from __future__ import annotations

from compilescope.capture._session import Session


def write(session: Session, kind: str, fields: dict[str, object], payload: str | None = None) -> None:
    """A record of the compile this thread is in; a payload is compressed and read only when asked for."""
    session.writer.record(
        kind,
        {"m": fields},
        c=session.current_compile_id(),
        ca=_autograd_id(),
        payload=payload,
        payload_kind=kind if payload is not None else None,
    )


def _autograd_id() -> int | None:
    from torch._guards import CompileContext

    found = getattr(CompileContext.current_compile_id(), "compiled_autograd_id", None)
    return found if isinstance(found, int) else None
