"""Code that was compiled before capture began: what can still be known, and counting its calls from now on.

Dynamo keeps its entries; the compiled graph of each is a global of the user's module, called from the code
Dynamo generated. That global is replaced by a counting one and put back on detach. What the graph held and
what compiling it cost is gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compilescope.capture._entries import Entries
from compilescope.capture._graphs import Graphs, counting
from compilescope.capture._session import Session
from compilescope.capture._stacks import Stacks

COMPILED_GRAPH = "__compiled_fn"


class Late:
    def __init__(self, session: Session, stacks: Stacks, graphs: Graphs, entries: Entries) -> None:
        self._session = session
        self._stacks = stacks
        self._graphs = graphs
        self._entries = entries
        self._replaced: list[tuple[dict[str, Any], str, Any, Any]] = []

    def install(self) -> None:
        for code, entry in _existing():
            self._session.safely(self._adopt, code, entry)

    def remove(self) -> None:
        for globals_, name, original, ours in self._replaced:
            if globals_.get(name) is ours:
                globals_[name] = original
        self._replaced.clear()

    def _adopt(self, code: Any, entry: Any) -> None:
        compile_id = entry.compile_id
        frame, recompile = compile_id.frame_id, compile_id.frame_compile_id
        c = (frame, recompile, 0, self._session.epoch)
        self._entries.adopt(frame, recompile)
        graphs = [name for name in entry.code.co_names if name.startswith(COMPILED_GRAPH)]
        self._session.writer.record(
            "late",
            {
                "m": {
                    "name": code.co_name,
                    "file": self._stacks.file_id(code.co_filename),
                    "line": code.co_firstlineno,
                    "code": self._session.code_serial(code),
                    "graphs": len(graphs),
                }
            },
            c=c,
        )
        for name in graphs:
            self._count(entry.guard_manager.global_scope["G"], name, c)

    def _count(self, globals_: dict[str, Any], name: str, c: Any) -> None:
        original = globals_.get(name)
        if original is None:
            return
        counter = self._graphs.adopt(c, {"late": True})
        ours = counting(original, counter, [])
        globals_[name] = ours
        self._replaced.append((globals_, name, original, ours))


def _existing() -> Iterator[tuple[Any, Any]]:
    """Every code object Dynamo has entries for, with each entry."""
    from torch._dynamo import convert_frame
    from torch._dynamo.eval_frame import _debug_get_cache_entry_list

    for reference in list(convert_frame.input_codes.seen):
        code = reference()
        if code is not None:
            for entry in _debug_get_cache_entry_list(code):
                yield code, entry
