"""Autotuning: the candidates for a GEMM, convolution or attention, and the configurations of a Triton kernel.

Both report timings torch measured anyway. A GEMM's candidates are timed while compiling (and reported again
when they come from the autotuning cache), a Triton kernel's configurations at its first launch.
"""

from __future__ import annotations

import logging
import math
from typing import Any

from compilescope.capture._inductor_ids import write
from compilescope.capture._patches import Patch, Wrapper, patch
from compilescope.capture._session import Session

MAX_CHOICES = 256
MAX_TEXT = 600
SELECT_LOGGER = "torch._inductor.select_algorithm"


class Autotuning:
    """``remove`` takes the callback off Inductor's list and the handler off its logger."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._failures = _FailedChoices(session)
        self._selectors: list[Any] = []

    def install_selection(self) -> Patch:
        from torch._inductor.select_algorithm import AlgorithmSelectorCache

        logging.getLogger(SELECT_LOGGER).addHandler(self._failures)
        return patch(AlgorithmSelectorCache, "__call__", self._make_selection)

    def remove(self) -> None:
        logging.getLogger(SELECT_LOGGER).removeHandler(self._failures)
        for selector in self._selectors:
            if self._heard in selector.feedback_saver_fns:
                selector.feedback_saver_fns.remove(self._heard)
        self._selectors.clear()

    def _make_selection(self, original: Wrapper) -> Wrapper:
        session = self._session

        def __call__(self_: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807 - the name of what it wraps
            if session.active:
                session.safely(self._listen, self_)
            return original(self_, *args, **kwargs)

        return __call__

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
        fields: dict[str, object] = {
            "name": str(name),
            "inputs": [_input(node) for node in input_nodes],
            "choices": [_choice(choice, by_name) for choice in list(choices)[:MAX_CHOICES]],
            "count": len(choices),
            "failures": self._failures.take(),
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
        }
        write(self._session, "triton_autotune", fields)


class _FailedChoices(logging.Handler):
    """Why candidates failed is only in the log, without their names: kept with the next result."""

    def __init__(self, session: Session) -> None:
        super().__init__(logging.WARNING)
        self._session = session
        self._texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if self._session.active:
            self._session.safely(self._keep, record)

    def _keep(self, record: logging.LogRecord) -> None:
        if len(self._texts) < MAX_CHOICES:
            self._texts.append(record.getMessage()[:MAX_TEXT])

    def take(self) -> list[str]:
        taken, self._texts = self._texts, []
        return taken


def _input(node: Any) -> dict[str, Any]:
    return {
        "size": [str(n) for n in node.get_size()],
        "stride": [str(n) for n in node.get_stride()],
        "dtype": str(node.get_dtype()).removeprefix("torch."),
    }


def _choice(choice: Any, timings: dict[str, Any]) -> dict[str, Any]:
    milliseconds = timings.get(choice.name)
    finite = isinstance(milliseconds, int | float) and math.isfinite(milliseconds)
    described: dict[str, Any] = {"name": choice.name, "type": type(choice).__name__}
    if finite:
        described["ms"] = milliseconds
    elif milliseconds is not None:
        described["failed"] = True
    description = getattr(choice, "description", None)
    if isinstance(description, str) and description:
        described["config"] = description[:MAX_TEXT]
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
