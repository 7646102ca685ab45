"""Texts of a recording for the terminal explorer, read only when looked at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from compilescope.recording import ProcessRecording, Recording
    from compilescope.views.tui import Document

# Beside the texts a page has: what torch said, which a page tells in its own words.
_TOLD = {
    "dynamo_graph_break_reason": "graph break as torch tells it",
    "recompile_reasons": "recompile reasons as torch tells them",
}
_PLAIN = frozenset({"dynamo_cpp_guards_str", *_TOLD})

_Index = TypeVar("_Index")


class RecordedCode:
    """A ``CodeSource``. The first question about a process reads its records once, for where texts are."""

    def __init__(self, recording: Recording) -> None:
        self._processes = recording.processes
        self._sources = _Once(_Sources)
        self._texts = _Once(_texts_of_compiles)
        self._read = lru_cache(maxsize=64)(_read)

    def prepared(self) -> RecordedCode:
        """With every index made now, by the thread that reads, so that no key has to wait for one."""
        for owner in self._processes:
            self._sources(owner)
            self._texts(owner)
        return self

    def source(self, file: str, process: str | None) -> str | None:
        for owner in self._of(process):
            sources = self._sources(owner)
            path = sources.path(file)
            if path is not None:
                return self._read(owner, sources.texts[path])
        return None

    def documents(self, compile_id: str, process: str | None) -> list[Document]:
        from compilescope.views.tui import Document

        plain_id = (
            compile_id.split("/", 1)[-1] if compile_id.startswith("!") else compile_id
        )  # compiled autograd
        found = [
            (owner, text) for owner in self._of(process) for text in self._texts(owner).get(plain_id, ())
        ]
        return [
            Document(title, language, partial(self._read, owner, ref))
            for owner, (title, language, ref) in found
        ]

    def locate(self, file: str, process: str | None) -> Path | None:
        if "\0" in file or ".." in Path(file).parts:  # a report never writes such a path
            return None
        candidates = [Path(file)]
        for owner in self._of(process):
            recorded = self._sources(owner).path(file)
            candidates += [Path(recorded)] if recorded else []
            candidates.append(Path(str(owner.head.get("cwd") or "")) / file)
        return next((path for path in candidates if path.is_file()), None)

    def _of(self, process: str | None) -> list[ProcessRecording]:
        named = [owner for owner in self._processes if owner.id == process]
        return named or self._processes


def _read(owner: ProcessRecording, ref: object) -> str | None:
    return owner.text(ref)


class _Once(Generic[_Index]):
    """An index of each process, made when first asked for. Who asks meanwhile waits, and makes no second."""

    def __init__(self, make: Callable[[ProcessRecording], _Index]) -> None:
        self._make = make
        self._made: dict[str, _Index] = {}
        self._lock = Lock()

    def __call__(self, owner: ProcessRecording) -> _Index:
        with self._lock:
            if owner.id not in self._made:
                self._made[owner.id] = self._make(owner)
            return self._made[owner.id]


class _Sources:
    """Where the source files of one process are."""

    def __init__(self, owner: ProcessRecording) -> None:
        from compilescope.recording import Selection

        self._cwd = str(owner.head.get("cwd") or "")
        self.texts: dict[str, Any] = {
            str(record.m.get("path")): record.p
            for record in owner.records(Selection(("source",)))
            if record.p is not None
        }

    def path(self, file: str) -> str | None:
        """The recorded path that a report shows as ``file``: relative to the run, or cut on the left."""
        candidates = (file, str(Path(self._cwd) / file))
        exact = next((path for path in candidates if path in self.texts), None)
        if exact is not None:
            return exact
        ends = [path for path in self.texts if path.endswith("/" + file)]
        return ends[0] if len(ends) == 1 else None


def _texts_of_compiles(owner: ProcessRecording) -> dict[str, list[tuple[str, str, Any]]]:
    """Of each compile id the texts of one process: what each is called, its language, and where it is."""
    from compilescope.model.documents import TITLES
    from compilescope.recording import Selection

    titles = TITLES | _TOLD
    found: dict[str, list[tuple[str, str, Any]]] = defaultdict(list)
    for record in owner.records(Selection(("artifact", *titles), {"artifact": titles})):
        name = str(record.m.get("name")) if record.k == "artifact" else record.k
        if name in titles and record.c is not None and record.p is not None:
            language = "text" if name in _PLAIN else "python"
            frame, recompile, attempt, epoch = (*record.c, None, None, None, None)[:4]
            again = f", attempt {attempt + 1}" if attempt else ""
            reset = f", after reset {epoch}" if epoch else ""
            found[f"{frame}/{recompile}"].append((titles[name] + again + reset, language, record.p))
    return found
