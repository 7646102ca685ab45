"""Look-ups over one process that every question needs: frames, graphs, source lines, break texts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from compilescope.analysis.break_text import BreakText, parse_break
from compilescope.analysis.paths import Paths, match_suffix
from compilescope.analysis.scopes import Scopes
from compilescope.analysis.source_text import readable
from compilescope.analysis.wrappers import is_wrapper, wrapped
from compilescope.model import BreakEvent, Compile, CompileId, Graph, Location, Process

_RESUME = re.compile(r"^torch_dynamo_resume_in_(?P<function>.+)_at_(?P<line>\d+)$")
_WITH_CODE = frozenset(("compiled", "limit", "failed", "earlier"))
FrameKey = tuple[object, ...]


def original_name(function: str) -> tuple[str, int | None]:
    """("forward", 14) of ``torch_dynamo_resume_in_forward_at_14``; (name, None) of any other function."""
    match = _RESUME.match(function)
    if match is None:
        return function, None
    inner, _ = original_name(match["function"])
    return inner, int(match["line"])


@dataclass(frozen=True, slots=True)
class FrameGroup:
    """One code object and everything Dynamo compiled of it."""

    key: FrameKey
    code: Location
    serial: int | None
    compiles: tuple[Compile, ...]

    @property
    def function(self) -> str:
        return original_name(self.code.function)[0]

    @property
    def resumed_at(self) -> int | None:
        return original_name(self.code.function)[1]


@dataclass(frozen=True, slots=True)
class Break:
    event: BreakEvent
    text: BreakText


class Index:
    def __init__(self, process: Process, paths: Paths, parent: Index | None = None) -> None:
        """``parent``: of the process this one was forked from; it compiled the inherited graphs."""
        self.parent = parent
        self.process = process
        self.paths = paths

    @cached_property
    def scopes(self) -> Scopes:
        return Scopes(self.process.sources)

    @cached_property
    def _arguments(self) -> Mapping[int, frozenset[str]]:
        found = {c.code_serial: c.arguments for c in self.process.conversions if c.code_serial is not None}
        return {serial: names for serial, names in found.items() if names is not None}

    def parameters(self, frame: FrameGroup) -> frozenset[str] | None:
        """Names of a frame's parameters: as Python had them, else as its source says; None if unknown."""
        told = self._arguments.get(frame.serial) if frame.serial is not None else None
        return told if told is not None else self.scopes.parameters(frame.code)

    @cached_property
    def serials(self) -> Mapping[tuple[int, int], int]:
        """(epoch, frame id) -> serial of the code object."""
        return {
            (c.compile.epoch, c.compile.frame): c.code_serial
            for c in self.process.conversions
            if c.compile is not None and c.code_serial is not None and c.outcome in _WITH_CODE
        }

    def key_of(self, compile_id: CompileId) -> FrameKey:
        serial = self.serials.get((compile_id.epoch, compile_id.frame))
        return ("code", serial) if serial is not None else ("id", compile_id.epoch, compile_id.frame)

    @cached_property
    def frames(self) -> Mapping[FrameKey, FrameGroup]:
        grouped: dict[FrameKey, list[Compile]] = defaultdict(list)
        for compile_id, compiled in self.process.compiles.items():
            grouped[self.key_of(compile_id)].append(compiled)
        return {
            key: FrameGroup(key, _code(compiles), self._serial(compiles), tuple(compiles))
            for key, compiles in grouped.items()
        }

    def frame_of(self, compile_id: CompileId) -> FrameGroup | None:
        return self.frames.get(self.key_of(compile_id))

    def frame_of_graph(self, graph: Graph) -> FrameGroup | None:
        """The frame a graph belongs to: the parent's, where the graph was compiled before a fork."""
        if graph.inherited and self.parent:
            return self.parent.frame_of(graph.compile)
        return self.frame_of(graph.compile)

    def _serial(self, compiles: Iterable[Compile]) -> int | None:
        return next(
            (s for c in compiles if (s := self.serials.get((c.id.epoch, c.id.frame))) is not None), None
        )

    @cached_property
    def graphs_of(self) -> Mapping[CompileId, tuple[Graph, ...]]:
        found: dict[CompileId, list[Graph]] = defaultdict(list)
        for graph in self.process.graphs:
            found[graph.compile].append(graph)
        return {key: tuple(graphs) for key, graphs in found.items()}

    def calls_of(self, compile_id: CompileId) -> int | None:
        """Calls of a compile's graphs; None when it has none or one was not counted."""
        graphs = self.graphs_of.get(compile_id, ())
        counts = [graph.calls for graph in graphs if graph.calls is not None]
        return max(counts) if graphs and len(counts) == len(graphs) else None

    def in_warm_up(self, compiled: Compile) -> bool:
        """Whether a bucketed model's own warm-up made torch compile this, or ask for it in vain."""
        start_ns = compiled.start_ns
        return start_ns is not None and any(
            each.thread in (None, compiled.thread)
            and (each.begin_ns or 0) <= start_ns
            and (each.end_ns is None or start_ns <= each.end_ns)
            for each in self.process.warm_ups
        )

    def why_uncounted(self) -> str:
        """Why a graph of this process has no run-time counts."""
        if self.process.kind == "torch_trace":
            return "a TORCH_TRACE log has no run-time counts"
        hook = self.process.hooks.get("graphs", "ok")
        if hook != "ok":
            return f"the hook that counts calls was not there: {hook}"
        return "the process ended before its first snapshot of the counters"

    def why_uncounted_eager(self) -> str:
        """Why calls after a refused compile have no count."""
        if self.process.kind == "torch_trace":
            return "a TORCH_TRACE log has no run-time counts"
        return "the hook that counts guard misses after a limit was not there"

    @cached_property
    def breaks(self) -> tuple[Break, ...]:
        return tuple(Break(event, parse_break(event.text)) for event in self.process.breaks)

    @cached_property
    def breaks_of(self) -> Mapping[CompileId, tuple[Break, ...]]:
        found: dict[CompileId, list[Break]] = defaultdict(list)
        for item in self.breaks:
            if item.event.compile is not None:
                found[item.event.compile].append(item)
        return {key: tuple(items) for key, items in found.items()}

    def modules_of(self, frame: FrameGroup) -> frozenset[str]:
        """Shortened expressions that hold an nn.Module: their parameters were inputs of its graphs."""
        known = self._modules.get(frame.key)
        if known is None:
            graphs = (graph for c in frame.compiles for graph in self.graphs_of.get(c.id, ()))
            sources = {p.source for graph in graphs for p in graph.placeholders if p.source}
            found = {name for source in sources for name in _module_prefixes(source)}
            for compiled in frame.compiles:
                stated = self.process.module_sources.get((compiled.id.epoch, compiled.id.frame), ())
                found.update(readable(source).text for source in stated)
            known = self._modules[frame.key] = frozenset(found)
        return known

    @cached_property
    def _modules(self) -> dict[FrameKey, frozenset[str]]:
        return {}

    @cached_property
    def files(self) -> frozenset[str]:
        known = set(self.process.sources)
        for compiled in self.process.compiles.values():
            known.update(place.file for place in (*compiled.stack, *compiled.call))
            if compiled.code:
                known.add(compiled.code.file)
        return frozenset(known)

    def whole_path(self, cut: str) -> str | None:
        return match_suffix(cut, self.files)

    @cached_property
    def _lines(self) -> dict[str, list[str]]:
        return {}

    def source_line(self, file: str, line: int) -> str | None:
        """The stripped text of a line, from the sources stored with the recording."""
        lines = self._lines.get(file)
        if lines is None:
            lines = self._lines[file] = self.process.sources.get(file, "").splitlines()
        return lines[line - 1].strip() or None if 0 < line <= len(lines) else None

    def user_call(self, call: Iterable[Location]) -> Location | None:
        """The innermost line of the user's own code in a call path; a library's where there is none."""
        first = None
        for place in call:
            if self.paths.is_torch(place.file):
                continue
            if not self.paths.is_library(place.file):
                return place
            first = first or place
        return first

    @cached_property
    def wrapped(self) -> Location | None:
        """The program's function that torch's wrapper stands for; None where there is none, or several."""
        return wrapped(self.process.targets, self.scopes, is_torch=self.paths.is_torch)

    def called_from(self, group: FrameGroup) -> str | None:
        for compiled in group.compiles:
            place = self.user_call(compiled.call)
            if place:
                return self.name_place(place)
        return None

    def name_place(self, place: Location) -> str:
        return f"{self.paths.at(place.file, place.line)} {original_name(place.function)[0]}"

    def blamed(self, group: FrameGroup, compiled: Compile | None = None) -> Location:
        """The function to name for a frame: torch's own frames stand for the user's line that called them,
        at the time of ``compiled`` where given.
        """
        if self.wrapped and is_wrapper(group.code):
            return self.wrapped
        if self.paths.is_torch(group.code.file):
            for candidate in (compiled, *group.compiles) if compiled else group.compiles:
                place = self.user_call(candidate.call)
                if place:
                    return Location(place.file, place.line, original_name(place.function)[0])
        return Location(group.code.file, group.code.line, group.function)


def _code(compiles: Iterable[Compile]) -> Location:
    for compiled in compiles:
        if compiled.code:
            return compiled.code
    for compiled in compiles:
        if compiled.stack:
            return compiled.stack[-1]
    return Location("?", 0, "?")


@lru_cache(maxsize=4096)
def _module_prefixes(source: str) -> tuple[str, ...]:
    found = []
    for table in ("._parameters[", "._buffers[", "._modules["):
        start = 0
        while (start := source.find(table, start)) >= 0:
            found.append(readable(source[:start]).text)
            start += len(table)
    return tuple(found)
