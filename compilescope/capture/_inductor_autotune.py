"""Autotuning: the candidates for a GEMM, convolution or attention, and the configurations of a Triton kernel.

Both report timings torch measured anyway. A GEMM's candidates are timed while compiling (and reported again
when they come from the autotuning cache), a Triton kernel's configurations at its first launch.
"""

from __future__ import annotations

import logging
import math
import sys
from typing import Any

from compilescope.capture._clipped import clipped
from compilescope.capture._inductor_candidates import SELECT_MODULE, Candidates
from compilescope.capture._inductor_ids import write
from compilescope.capture._inductor_nodes import user_frame
from compilescope.capture._patches import Patch, Wrapper, patch
from compilescope.capture._session import Session
from compilescope.capture._stacks import Stacks

MAX_CHOICES = 256
MAX_WAITING = 4096
MAX_DEPTH = 12
MAX_TEXT = 600


class Autotuning:
    """``remove`` takes the callback off Inductor's list and the handler off its logger."""

    def __init__(self, session: Session, stacks: Stacks) -> None:
        self._session = session
        self._stacks = stacks
        self._failures = _FailedChoices(session)
        self.candidates = Candidates(session)
        self._selectors: list[Any] = []
        self._nodes: dict[tuple[str, ...], dict[str, Any]] = {}

    def install_selection(self) -> Patch:
        from torch._inductor.select_algorithm import AlgorithmSelectorCache

        logging.getLogger(SELECT_MODULE).addHandler(self._failures)
        return patch(AlgorithmSelectorCache, "__call__", self._make_selection)

    def remove(self) -> None:
        logging.getLogger(SELECT_MODULE).removeHandler(self._failures)
        for selector in self._selectors:
            if self._heard in selector.feedback_saver_fns:
                selector.feedback_saver_fns.remove(self._heard)
        self._selectors.clear()

    def _make_selection(self, original: Wrapper) -> Wrapper:
        session = self._session

        def __call__(self_: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807 - the name of what it wraps
            if session.active:
                session.safely(self._listen, self_)
                session.safely(self._note_node, args, kwargs)
            return original(self_, *args, **kwargs)

        return __call__

    def _note_node(self, args: Any, kwargs: Any) -> None:
        """Which FX node is being lowered: on a GPU candidates are timed later, when no node is current."""
        from torch._inductor.virtualized import V

        name = args[0] if args else kwargs.get("name")
        inputs = args[2] if len(args) > 2 else kwargs.get("input_nodes")
        node = getattr(V.graph, "current_node", None)
        if node is None or inputs is None:
            return
        if len(self._nodes) >= MAX_WAITING:
            self._nodes.clear()
        described: dict[str, Any] = {"node": node.name, "is_backward": bool(V.graph.is_backward)}
        place = user_frame(node.meta.get("stack_trace"))
        if place is not None:
            described["line"] = [self._stacks.file_id(place[0]), place[1], place[2]]
        self._nodes[_key(name, inputs)] = described

    def _listen(self, selector: Any) -> None:
        """Only once there is a selector, and again after ``clear_feedback_savers``."""
        if self._heard not in selector.feedback_saver_fns:
            selector.add_feedback_saver(self._heard)
            self._selectors.append(selector)

    def _heard(self, timings: Any, name: Any, input_nodes: Any, choices: Any, *_rest: Any) -> None:
        if self._session.active:
            self._session.safely(self._write, timings, name, input_nodes, choices)

    def _write(self, timings: Any, name: Any, input_nodes: Any, choices: Any) -> None:
        by_name = {choice.name: milliseconds for choice, milliseconds in timings.items()}
        texts, reasons = self._failures.take()
        fields: dict[str, object] = {
            "name": str(name),
            "inputs": [_input(node) for node in input_nodes],
            "choices": [_choice(choice, by_name, reasons) for choice in list(choices)[:MAX_CHOICES]],
            "count": len(choices),
            "failures": texts,
            **self._nodes.get(_key(name, input_nodes), {}),
            **self.candidates.take(),
        }
        write(self._session, "autotune", fields)

    def install_triton(self) -> Patch:
        from torch._inductor.runtime.triton_heuristics import CachingAutotuner

        return patch(CachingAutotuner, "benchmark_all_configs", self._make_benchmark)

    def _make_benchmark(self, original: Wrapper) -> Wrapper:
        session = self._session

        def benchmark_all_configs(self_: Any, *args: Any, **kwargs: Any) -> Any:
            timings = original(self_, *args, **kwargs)
            if session.active:
                session.safely(self._write_configs, self_, timings)
            return timings

        return benchmark_all_configs

    def _write_configs(self, autotuner: Any, timings: Any) -> None:
        meta = getattr(autotuner, "inductor_meta", None) or {}
        fields: dict[str, object] = {
            "kernel": str(meta.get("kernel_name") or getattr(autotuner.fn, "__name__", "?")),
            "compile": str(getattr(autotuner, "compile_id", None) or "") or None,
            "is_backward": bool(getattr(autotuner, "is_backward", False)),
            "configs": [_config(launcher, ms) for launcher, ms in list(timings.items())[:MAX_CHOICES]],
            "count": len(timings),
        }
        write(self._session, "triton_autotune", fields)


class _FailedChoices(logging.Handler):
    """Why candidates failed is only in the log; which one it was, in the frame that logs it."""

    def __init__(self, session: Session) -> None:
        super().__init__(logging.WARNING)
        self._session = session
        self._texts: list[str] = []
        self._by_choice: dict[str, str] = {}

    def emit(self, record: logging.LogRecord) -> None:
        if self._session.active:
            self._session.safely(self._keep, record)

    def _keep(self, record: logging.LogRecord) -> None:
        if len(self._texts) >= MAX_CHOICES:
            self._session.writer.lost("reasons of failed candidates: more than are kept of one operation")
        else:
            text = clipped(record.getMessage(), MAX_TEXT)
            self._texts.append(text)
            name = _choice_at_hand()
            if name is not None:
                self._by_choice.setdefault(name, text)

    def take(self) -> tuple[list[str], dict[str, str]]:
        taken = self._texts, self._by_choice
        self._texts, self._by_choice = [], {}
        return taken


def _choice_at_hand() -> str | None:
    """``choice`` in the frame of Inductor that is logging: reading a frame's locals runs nothing."""
    frame: Any = sys._getframe(1)
    for _ in range(MAX_DEPTH):
        if frame is None:
            return None
        if frame.f_globals.get("__name__") == SELECT_MODULE:
            name = getattr(frame.f_locals.get("choice"), "name", None)
            return name if isinstance(name, str) else None
        frame = frame.f_back
    return None


def _key(name: Any, inputs: Any) -> tuple[str, ...]:
    return (str(name), *(str(node.get_name()) for node in inputs))


def _input(node: Any) -> dict[str, Any]:
    return {
        "size": [str(n) for n in node.get_size()],
        "stride": [str(n) for n in node.get_stride()],
        "dtype": str(node.get_dtype()).removeprefix("torch."),
    }


def _choice(choice: Any, timings: dict[str, Any], reasons: dict[str, str]) -> dict[str, Any]:
    milliseconds = timings.get(choice.name)
    finite = isinstance(milliseconds, int | float) and math.isfinite(milliseconds)
    described: dict[str, Any] = {"name": choice.name, "type": type(choice).__name__}
    if finite:
        described["ms"] = milliseconds
    elif milliseconds is not None or choice.name in reasons:
        described["failed"] = True
    if choice.name in reasons:
        described["why"] = reasons[choice.name]
    description = getattr(choice, "description", None)
    if isinstance(description, str) and description:
        described["config"] = clipped(description, MAX_TEXT)
    return described


def _config(launcher: Any, milliseconds: Any) -> dict[str, Any]:
    config = launcher.config
    described: dict[str, Any] = {
        "config": {
            **{str(k): v for k, v in config.kwargs.items() if isinstance(v, int | float | str)},
            "num_warps": config.num_warps,
            "num_stages": config.num_stages,
        }
    }
    if isinstance(milliseconds, int | float) and math.isfinite(milliseconds):
        described["ms"] = milliseconds
    else:
        described["failed"] = True
    for name in ("n_regs", "n_spills", "shared"):
        value = getattr(launcher, name, None)
        if isinstance(value, int):
            described[name] = value
    return described
