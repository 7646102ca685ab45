"""Which graph break a frame exists for: without it the frame would have been part of its caller's graph."""

from __future__ import annotations

from compilescope.analysis.index import Break, FrameGroup, Index, original_name

FunctionKey = tuple[str, str, int | None]


class BreakOrigins:
    def __init__(self, index: Index) -> None:
        self._index = index
        self._by_line: dict[tuple[str, int], Break] = {}
        self._by_function: dict[FunctionKey, Break] = {}
        for item in index.breaks:
            if item.text.file is None:
                continue
            for file, line, _ in item.text.stack:
                self._by_line.setdefault((file, line), item)
            compile_id = item.event.compile
            frame = index.frame_of(compile_id) if compile_id else None
            if frame:
                self._by_function[self._key(frame.code.file, frame.code.line, frame.code.function)] = item

    def of(self, frame: FrameGroup) -> Break | None:
        """The break behind a resume function, or the one of a frame that was on the stack when it began."""
        if frame.resumed_at is not None:
            found = self._by_line.get((frame.code.file, frame.resumed_at))
            if found:
                return found
        for compiled in frame.compiles:
            for place in reversed(compiled.stack[:-1]):
                found = self._by_function.get(self._key(place.file, place.line, place.function))
                if found and found.event.compile != compiled.id:
                    return found
        return None

    def reference(self, frame: FrameGroup) -> str | None:
        """ "file.py:14" of that break."""
        found = self.of(frame)
        if found is None or found.text.file is None:
            return None
        return self._index.paths.at(found.text.file, found.text.line)

    def _key(self, file: str, line: int, function: str) -> FunctionKey:
        """A function, by its first line where the source is known: many of a file are called forward."""
        return file, original_name(function)[0], self._index.scopes.start_of(file, line)
