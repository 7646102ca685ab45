"""One capture: the session, its hooks, and putting torch back as it was found."""

from __future__ import annotations

import atexit
import functools
import os
import sys
import weakref
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from compilescope.capture._buckets import Buckets
from compilescope.capture._control import Control
from compilescope.capture._conversions import Conversions
from compilescope.capture._eager_calls import EagerCalls
from compilescope.capture._entries import Entries
from compilescope.capture._fx_graphs import FxGraphs, counting_boxed
from compilescope.capture._graphs import Graphs, counting_functions
from compilescope.capture._guard_failures import GuardFailures
from compilescope.capture._head import current_stance, dynamo_config, head, rank, started_device
from compilescope.capture._imports import after_import
from compilescope.capture._inductor_hooks import InductorHooks
from compilescope.capture._late import Late
from compilescope.capture._patches import HookMissingError, Patch
from compilescope.capture._pgo import Pgo
from compilescope.capture._session import Session
from compilescope.capture._stacks import Stacks
from compilescope.capture._ticks import Ticks
from compilescope.capture._trace import TraceHandler
from compilescope.capture._trace import install as install_trace
from compilescope.capture._trace import uninstall as uninstall_trace
from compilescope.capture._warnings import WarningHandler
from compilescope.capture._warnings import install as install_warnings
from compilescope.capture._warnings import uninstall as uninstall_warnings
from compilescope.recording.writer import Writer

Install = Callable[[], "Patch | list[Patch] | None"]


class Capture:
    """Everything that is attached to this process's torch, and how to detach it."""

    def __init__(self, folder: Path, on_failure: Callable[[str], None]) -> None:
        import torch

        self.hooks: dict[str, str] = {}
        self._late = "torch._dynamo" in sys.modules and _something_compiled()
        self.writer = Writer(folder, _weakly(self._head), rank=rank(), on_failure=on_failure)
        self.session = Session(self.writer)
        stacks = Stacks(self.writer, str(Path(torch.__file__).parent))
        self._stacks = stacks
        self.trace = TraceHandler(self.session, stacks)
        self.graphs = Graphs(self.session, stacks)
        self.eager = EagerCalls(self.session)
        self.conversions = Conversions(self.session, stacks)
        self.entries = Entries(self.session, stacks)
        self.guard_failures = GuardFailures(self.session, self.entries)
        self.control = Control(self.session, stacks, self.trace)
        self.fx_graphs = FxGraphs(self.session)
        self.pgo = Pgo(self.session)
        self.buckets = Buckets(self.session)
        self.ticks = Ticks(self.session, self.graphs, self.fx_graphs, self.buckets, self.eager, self.trace)
        self.inductor = InductorHooks(self.session, stacks)
        self.late = Late(self.session, stacks, self.graphs, self.entries)
        self._warnings = WarningHandler(self.session)
        self._patches: list[Patch] = []
        self._call_off: list[Callable[[], None]] = []
        self.eager.on_inherited = self.conversions.write_inherited
        self.control.on_stance = self.eager.refresh
        self.conversions.on_begin = self.eager.began
        self.conversions.on_refused = self.eager.refused
        self.conversions.on_compile = self.ticks.at_compile
        self.buckets.on_warm_up = self.ticks.snapshot
        self.buckets.on_warmed_up = self.graphs.forget_times
        self.graphs.on_first_graph = self.ticks.start
        # A process killed in its first compile has no graph yet: what it was doing is to be known.
        self.trace.on_start = self.ticks.start

    def attach(self, *, even_idle: bool = False) -> None:
        self._install("trace", lambda: install_trace(self.trace))
        self._install("warnings", lambda: install_warnings(self._warnings))
        self._install("buckets", self.buckets.install)
        if even_idle or os.environ.get("COMPILESCOPE_ROOT_PID", str(os.getpid())) == str(os.getpid()):
            # The program itself gets a recording even if nothing compiles in it; its idle children do not.
            self.session.safely(self.writer.record, "attached", {})
        self._call_off += [
            after_import("torch._dynamo", self._install_dynamo),
            after_import("torch._inductor.output_code", self._install_inductor),
        ]
        self._call_off += [
            after_import(module, functools.partial(self._install_late, name, install))
            for module, name, install in self.inductor.waiting()
        ]
        _living.add(self)
        _at_multiprocessing_exit(self)
        atexit.register(self.close, "atexit")

    def _install_dynamo(self) -> None:
        self._install("out_of_dynamo", self._hide)
        for name, install in self._dynamo_hooks().items():
            self._install(name, install)
        self.session.safely(self._write_hooks)

    def _install_inductor(self) -> None:
        self._install("fx_graphs", self.fx_graphs.install)
        self.session.safely(self._write_hooks)

    def _install_late(self, name: str, install: Install) -> None:
        self._install(name, install)
        self.session.safely(self._write_hooks)

    def _write_hooks(self) -> None:
        if not self.session.active:
            return
        facts = {"hooks": self.hooks, "config": dynamo_config(), "stance": current_stance()}
        facts |= started_device()
        self.writer.record("process", {"m": facts})

    def _write_last_facts(self) -> None:
        facts: dict[str, Any] = started_device()
        if self.conversions.uninteresting:
            facts["library_frames_skipped"] = self.conversions.uninteresting
        if facts:
            self.writer.record("process", {"m": facts})

    def probe(self) -> dict[str, str]:
        """Install everything, look at what went in, take it off."""
        self.session.active = False
        import_module("torch._dynamo")
        self._install_dynamo()
        import_module("torch._inductor.output_code")
        self._install_inductor()
        for module, name, install in self.inductor.waiting():
            import_module(module)
            self._install(name, install)
        self.detach()
        return dict(self.hooks)

    def _dynamo_hooks(self) -> dict[str, Install]:
        return {
            "graphs": self.graphs.install,
            "conversions": self.conversions.install,
            "skip_reasons": self.conversions.install_reasons,
            "entries": self.entries.install,
            "guard_failures": self.guard_failures.install,
            "reset": self.control.install_reset,
            "stance": self.control.install_stance,
            "compile_calls": self.control.install_compile_calls,
            "late": self.late.install,
            "pgo": self.pgo.install,
        }

    def _hide(self) -> None:
        self.session.dynamo_loaded(
            TraceHandler.emit,
            TraceHandler.handle,
            WarningHandler.emit,
            *counting_functions(),
            counting_boxed(len, [0]),
            self.close,
        )

    def _install(self, name: str, install: Install) -> None:
        """A hook that this torch does not support is named in the recording; the others go in."""
        try:
            made = install()
        except (HookMissingError, ImportError, AttributeError) as error:
            self.hooks[name] = f"missing: {error}"
        except Exception as error:
            self.hooks[name] = f"missing: {type(error).__name__}"
        else:
            self.hooks[name] = "ok"
            self._patches += made if isinstance(made, list) else [made] if made is not None else []

    def _head(self) -> dict[str, Any]:
        return head(self.hooks, late=self._late)

    def snapshot(self) -> None:
        self.session.safely(self.trace.flush_phases)
        self.session.safely(self.ticks.snapshot)

    def close(self, how: str) -> None:
        """Last counts, then the end record. Called once per process, however Python gets to its exit."""
        if self.session.active:
            self.snapshot()
            self.session.safely(self._write_last_facts)
            self.session.active = False
            self.ticks.stop()
            self.session.safely(self.writer.close, how)

    def detach(self) -> None:
        """Leave torch as it was found. Graphs compiled meanwhile keep a counter that nobody reads."""
        self.close("detached")
        atexit.unregister(self.close)
        for undo in (*self._call_off, *(made.remove for made in reversed(self._patches))):
            self.session.safely(undo)
        self._patches.clear()
        self.session.safely(self.eager.remove)
        self.session.safely(self.late.remove)
        self.session.safely(self.buckets.remove)
        self.session.safely(self.inductor.remove)
        _living.discard(self)
        self.session.safely(uninstall_warnings, self._warnings)
        self.session.safely(uninstall_trace, self.trace)

    def forked(self) -> None:
        """A forked child records into a folder of its own, from zero."""
        if self.session.active:
            for part in (self._stacks.forked, self.trace.forked, self.ticks.forked):
                self.session.safely(part)


def _weakly(method: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    """Wrappers that others took by value keep the writer alive; it must not keep the whole capture."""
    reference = weakref.WeakMethod(method)

    def call() -> dict[str, Any]:
        alive = reference()
        return {} if alive is None else alive()

    return call


_living: weakref.WeakSet[Capture] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for capture in list(_living):
        capture.forked()


os.register_at_fork(after_in_child=_after_fork_in_child)


def _something_compiled() -> bool:
    convert_frame = sys.modules.get("torch._dynamo.convert_frame")
    seen = getattr(getattr(convert_frame, "input_codes", None), "seen", None)
    return bool(seen)


def _at_multiprocessing_exit(capture: Capture) -> None:
    """A forked multiprocessing child leaves by ``os._exit`` after its own finalizers, past ``atexit``."""
    from multiprocessing import util

    def in_child(captured: Capture) -> None:
        util.Finalize(None, captured.close, args=("multiprocessing exit",), exitpriority=-1000)

    util.register_after_fork(capture, in_child)
