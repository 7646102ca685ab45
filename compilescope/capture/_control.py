"""Calls by which a program steers the compiler: torch.compile, reset, stance.

Without them "nothing was compiled" has no reason: torch says nothing when a call of torch.compile is never
run, when a stance forces eager, or when a builtin module's ``.compile()`` has no effect.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from compilescope.capture._inert import is_a, type_name
from compilescope.capture._patches import Patch, Wrapper, patch
from compilescope.capture._session import Session
from compilescope.capture._stacks import Stacks
from compilescope.capture._trace import TraceHandler


class Control:
    def __init__(self, session: Session, stacks: Stacks, trace: TraceHandler) -> None:
        self._session = session
        self._stacks = stacks
        self._trace = trace
        self.on_stance: Callable[[], None] = lambda: None

    def install_reset(self) -> Patch:
        import torch._dynamo

        return patch(torch._dynamo, "reset", self._make_reset)

    def install_stance(self) -> list[Patch]:
        from torch._dynamo import decorators, eval_frame

        return [patch(module, "_set_stance", self._make_stance) for module in (eval_frame, decorators)]

    def install_compile_calls(self) -> list[Patch]:
        import torch._dynamo
        from torch._dynamo.eval_frame import _NullDecorator, _TorchDynamoContext

        return [
            patch(torch._dynamo, "optimize", self._make_optimize),
            patch(_TorchDynamoContext, "__call__", self._make_target),
            patch(_NullDecorator, "__call__", self._make_target),
        ]

    def _make_reset(self, original: Wrapper) -> Wrapper:
        session = self._session

        def reset(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if session.active:
                session.safely(self._reset)
            return result

        return reset

    def _reset(self) -> None:
        self._trace.reset_epoch()
        self._session.writer.record("reset", {"m": {"epoch": self._session.epoch}})

    def _make_stance(self, original: Wrapper) -> Wrapper:
        session = self._session

        def _set_stance(stance: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(stance, *args, **kwargs)
            if session.active:
                session.safely(self._stance, stance)
            return result

        return _set_stance

    def _stance(self, stance: Any) -> None:
        self.on_stance()
        name = getattr(stance, "stance", None)
        if isinstance(name, str):
            self._session.writer.record("stance", {"m": {"stance": name, "call": self._stacks.user_frames()}})

    def _make_optimize(self, original: Wrapper) -> Wrapper:
        session = self._session

        def optimize(*args: Any, **kwargs: Any) -> Any:
            if session.active:
                session.safely(self._optimize, kwargs)
            return original(*args, **kwargs)

        return optimize

    def _optimize(self, kwargs: dict[str, Any]) -> None:
        told = {k: v for k, v in kwargs.items() if type(v) in (bool, int, str) and k not in ("rebuild_ctx",)}
        self._session.writer.record("compile_call", {"m": {**told, "call": self._stacks.user_frames()}})

    def _make_target(self, original: Wrapper) -> Wrapper:
        session = self._session

        def __call__(self_: Any, fn: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            if session.active:
                session.safely(self._target, self_, fn)
            return original(self_, fn, *args, **kwargs)

        return __call__

    def _target(self, context: Any, fn: Any) -> None:
        """What was asked to be compiled. Contexts also serve torch's ``disable``: those are no targets."""
        if type(context).__name__ not in ("OptimizeContext", "_NullDecorator"):
            return
        # Any other callable object would answer through its own __getattr__.
        bound = type(fn) is types.MethodType
        function = fn.__func__ if bound else fn
        code = function.__code__ if type(function) is types.FunctionType else None
        subject = fn.__self__ if bound else fn
        fields = {
            "target": type_name(subject if is_a(subject, type) else type(subject)),
            "name": function.__qualname__ if code is not None else None,
            "file": self._stacks.file_id(code.co_filename) if code is not None else None,
            "line": code.co_firstlineno if code is not None else None,
            "disabled": type(context).__name__ == "_NullDecorator",
            "call": self._stacks.user_frames(),
        }
        self._session.writer.record("compile_target", {"m": fields})
