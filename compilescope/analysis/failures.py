"""Compiles that ended in an error: raised into the program, or suppressed so that the frame ran eager."""

from __future__ import annotations

from collections.abc import Mapping

from compilescope.analysis.break_text import user_stack
from compilescope.analysis.index import Index, original_name
from compilescope.analysis.report import Failure
from compilescope.model import Compile, CompileId, Conversion, Location
from compilescope.model.clipped import clipped

_MAX_MESSAGE = 400
_PHASES = {
    "BackendCompilerFailed": "backend",
    "ConstraintViolationError": "guards",
    "GuardOnDataDependentSymNode": "dynamo",
    "InductorError": "inductor",
}


def failures(index: Index) -> list[Failure]:
    """In order of time, one per error of one compile."""
    converted = {c.compile: c for c in index.process.conversions if _is_error(c)}
    converted = _once_per_refused_code(index, converted)
    rows = [_row(index, index.process.compiles.get(key) if key else None, c) for key, c in converted.items()]
    for compile_id, compiled in index.process.compiles.items():
        if compile_id not in converted and failed(index, compiled):
            rows.append(_row(index, compiled, None))
    return rows


def _is_error(conversion: Conversion) -> bool:
    raised_limit = conversion.exception == "FailOnRecompileLimitHit"
    return conversion.outcome in ("failed", "suppressed") or raised_limit


def _once_per_refused_code(
    index: Index, converted: Mapping[CompileId | None, Conversion]
) -> dict[CompileId | None, Conversion]:
    """Under fullgraph=True every call past the recompile limit raises: the first stands for all."""
    kept, refused = {}, set()
    for compile_id, conversion in converted.items():
        compiled = index.process.compiles.get(compile_id) if compile_id else None
        if compiled is not None and compiled.refused:
            if conversion.code in refused:
                continue
            refused.add(conversion.code)
        kept[compile_id] = conversion
    return kept


def failed(index: Index, compiled: Compile) -> bool:
    """Ended with an error that no graph break record explains."""
    if not compiled.fail_type or compiled.refused or compiled.has_code:
        return False
    return compiled.id not in index.breaks_of and not _was_skipped(index, compiled.id)


def _was_skipped(index: Index, compile_id: CompileId) -> bool:
    return any(c.compile == compile_id and c.outcome == "skipped" for c in index.process.conversions)


def _row(index: Index, compiled: Compile | None, conversion: Conversion | None) -> Failure:
    exception = (compiled.fail_type if compiled else None) or (conversion.exception if conversion else None)
    text = (compiled.fail_reason if compiled else None) or (conversion.reason if conversion else None) or ""
    place = _place(index, compiled, conversion)
    return Failure(
        exception=exception or "unknown",
        message=_message(text),
        function=original_name(place.function)[0] if place else None,
        file=index.paths.show(place.file) if place else None,
        line=place.line if place else None,
        suppressed=conversion is not None and conversion.outcome == "suppressed",
        phase=_PHASES.get(exception or "", "dynamo"),
        compile_id=str(compiled.id) if compiled else None,
        process=index.process.id,
        code=index.source_line(place.file, place.line) if place else None,
    )


def _place(index: Index, compiled: Compile | None, conversion: Conversion | None) -> Location | None:
    """The innermost user line of the error; torch's own lines are never blamed."""
    texts = [compiled.error_text, compiled.fail_reason] if compiled else []
    for text in (*texts, conversion.reason if conversion else None):
        for file, line, function in reversed(user_stack(text) if text else ()):
            if not index.paths.is_torch(file):
                return Location(file, line, function)
    for fact in index.process.specialized:
        if (
            compiled
            and fact.compile == compiled.id
            and fact.location
            and "Constraint" in (compiled.fail_type or "")
        ):
            return fact.location
    frame = index.frame_of(compiled.id) if compiled else None
    if compiled and compiled.fail_location and not index.paths.is_torch(compiled.fail_location.file):
        at = compiled.fail_location
        return Location(at.file, at.line, frame.function if frame else "?")
    if frame:
        return index.blamed(frame)
    return conversion.code if conversion else None


def _message(text: str) -> str:
    """The first sentence, with torch's explanation where it adds one; line breaks gone."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if not lines:
        return ""
    explanation = next(
        (line.removeprefix("Explanation: ") for line in lines if line.startswith("Explanation: ")), ""
    )
    listed = next((line.removeprefix("- ") for line in lines[1:] if line.startswith("- ")), "")
    follows = lines[1] if lines[0].endswith(":") and len(lines) > 1 else ""
    message = ": ".join(part for part in (lines[0].rstrip(":"), explanation or listed or follows) if part)
    return clipped(message, _MAX_MESSAGE)
