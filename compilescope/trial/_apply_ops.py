"""In the user's process: keeps a few arguments of every custom operator called, and checks them at the end.

``torch.library.opcheck`` calls an operator again, several times. That is done when the program has ended, so
that its results are its own.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

Note = Callable[[str, dict[str, object]], None]

_MOST_SAMPLES = 2  # of one operator, with other shapes or dtypes
_MOST_OPERATORS = 200
_MOST_BYTES = 256 << 20  # of all samples together
_MOST_TEXT = 2000
# Registered by parts of torch that a program may import later.
_OWN = frozenset(
    ("aten", "prims", "prim", "inductor", "rngprims", "debugprims", "higher_order", "symm_mem", "c10d",
     "_c10d_functional", "_c10d_functional_autograd", "_inductor_test", "bucketing", "compilescope",
     "profiler", "quantized", "quantized_decomposed", "onnx", "streams", "ao", "_TorchScriptTesting")
)  # fmt: skip


@dataclass
class _Seen:
    """An operator that was called: where first, and with what."""

    operator: Any
    place: tuple[str, int, str] | None
    calls: int = 0
    samples: dict[Any, tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=dict)


class OpSamples:
    """Wraps how Python calls operators. ``check`` is to be called when the program has ended."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._seen: dict[str, _Seen] = {}
        self._bytes = 0
        self._done = False
        self._inside = threading.local()
        self._torch: Any = sys.modules["torch"]
        self._pytree: Any = import_module("torch.utils._pytree")
        names = self._torch._C._dispatch_get_all_op_names()
        self._builtin = _OWN | {name.partition("::")[0] for name in names}

    def install(self) -> None:
        _ops, eval_frame = import_module("torch._ops"), import_module("torch._dynamo.eval_frame")
        for kind in (_ops.OpOverload, _ops.OpOverloadPacket):
            wrapped = self._wrapped(kind.__call__)
            eval_frame.skip_code(wrapped.__code__)
            kind.__call__ = wrapped

    def _wrapped(self, original: Callable[..., Any]) -> Any:
        keep, inside = self._keep, self._inside

        def __call__(self: Any, /, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            if getattr(inside, "now", False) or not keep(self, args, kwargs):
                return original(self, *args, **kwargs)
            inside.now = True  # what a custom operator calls is its own business
            try:
                return original(self, *args, **kwargs)
            finally:
                inside.now = False

        return __call__

    def _keep(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether it is a custom operator."""
        if self._done:
            return False
        try:
            name = str(getattr(operator, "_qualified_op_name", None) or operator._name)
            if name.partition("::")[0] in self._builtin:
                return False
            self._sample(name.partition(".")[0], operator, args, kwargs)
        except Exception:  # the program's own call goes on whatever became of the sample
            pass
        return True

    def _sample(self, name: str, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        pytree = self._pytree
        leaves = pytree.tree_leaves((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, self._torch.Tensor)]
        if any(type(t) not in (self._torch.Tensor, self._torch.nn.Parameter) for t in tensors):
            return  # being traced
        seen = self._seen.get(name)
        if seen is None:
            if len(self._seen) >= _MOST_OPERATORS:
                return
            seen = self._seen[name] = _Seen(operator, _user_place(sys._getframe(3)))
        seen.calls += 1
        key = tuple((tuple(t.shape), str(t.dtype), t.requires_grad) for t in tensors)
        size = sum(t.numel() * t.element_size() for t in tensors)
        if key in seen.samples or len(seen.samples) >= _MOST_SAMPLES or self._bytes + size > _MOST_BYTES:
            return
        self._bytes += size
        seen.samples[key] = pytree.tree_map_only(self._torch.Tensor, _copy, (args, kwargs))

    def check(self) -> None:
        """One note an operator."""
        self._done = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is wrong is in the results
            self._check_all()

    def _check_all(self) -> None:
        for name, seen in self._seen.items():
            results: dict[str, str] = {}
            for args, kwargs in seen.samples.values():
                for test, told in self._checked(seen.operator, args, kwargs).items():
                    if results.get(test, "SUCCESS") == "SUCCESS":
                        results[test] = told
            file, line, function = _definition(name) or seen.place or (None, None, None)
            called = seen.place and f"{seen.place[0]}:{seen.place[1]} {seen.place[2]}"
            place = {"file": file, "line": line, "function": function, "called": called}
            facts = {"op": name, "schema": _schema(seen.operator), "calls": seen.calls, "results": results}
            self._note("op_check", {**facts, **place})

    def _checked(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, str]:
        try:
            results = import_module("torch.library").opcheck(operator, args, kwargs, raise_exception=False)
        except Exception as problem:
            return {"opcheck": _text(problem)}
        return {test: told if told == "SUCCESS" else _text(told) for test, told in results.items()}


def _text(problem: object) -> str:
    """What opcheck gives is an exception, whose own text it wraps in advice for people who write tests."""
    cause = getattr(problem, "__cause__", None) or problem
    return f"{type(cause).__name__}: {cause}"[:_MOST_TEXT] if isinstance(cause, BaseException) else str(cause)


def _copy(tensor: Any) -> Any:
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def _schema(operator: Any) -> str | None:
    overload = operator if hasattr(operator, "_schema") else getattr(operator, "default", None)
    return str(overload._schema)[:_MOST_TEXT] if overload is not None else None


def _definition(name: str) -> tuple[str, int, str] | None:
    """Where Python defined it, by ``torch.library.custom_op``."""
    defined = getattr(sys.modules.get("torch._library.custom_ops"), "OPDEFS", {}).get(name)
    code = getattr(getattr(defined, "_init_fn", None), "__code__", None)
    return (code.co_filename, code.co_firstlineno, code.co_name) if code is not None else None


def _user_place(frame: Any) -> tuple[str, int, str] | None:
    """The innermost line of a file that is neither torch's, nor ours, nor generated."""
    ours = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120
    cache = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    while frame is not None:
        file = frame.f_code.co_filename
        generated = file.startswith("<") or "torchinductor" in file or bool(cache and file.startswith(cache))
        if not generated and f"{os.sep}torch{os.sep}" not in file and not file.startswith(ours):
            return file, frame.f_lineno, frame.f_code.co_name
        frame = frame.f_back
    return None
