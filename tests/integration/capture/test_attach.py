"""Attaching late, again, beside other consumers of torch's trace; leaving torch as it was found."""

from __future__ import annotations

import gc
import logging
import sys
import weakref
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
import torch._dynamo.testing  # imports `reset` by value: after a patch it would hold our wrapper

import compilescope.capture
from compilescope.capture import _capture

pytestmark = pytest.mark.xdist_group("capture_attach")

TRACE = logging.getLogger("torch.__trace")


def _double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def _compiled(function: Any = _double, **options: Any) -> Any:
    return torch.compile(function, backend="eager", **options)


def test_a_second_attach_is_ignored(recording: Any, tmp_path: Path) -> None:
    with recording() as recorded:
        assert compilescope.capture.is_attached()
        compilescope.capture.attach(tmp_path / "second")
        _compiled()(torch.ones(1))
    assert not compilescope.capture.is_attached()
    assert not (tmp_path / "second").exists()
    assert recorded.calls() == [1]
    compilescope.capture.detach()
    compilescope.capture.snapshot()


def test_attaching_again_records_anew(recording: Any) -> None:
    counts = []
    for n in range(3):
        with recording(f"r{n}") as recorded:
            _compiled()(torch.ones(1))
        counts.append((recorded.calls(), len(recorded.records("convert")), recorded.lost()))
    assert counts == [([1], 1, {})] * 3


def test_nothing_is_patched_twice_or_left_behind(recording: Any) -> None:
    from torch._dynamo import convert_frame, output_graph

    def state() -> list[Any]:
        handlers = [list(logging.getLogger(name).handlers) for name in ("torch.__trace", "torch._dynamo")]
        return [
            output_graph.OutputGraph.call_user_compiler,
            convert_frame.ConvertFrame.__call__,
            torch._dynamo.reset,
            torch._dynamo.optimize,
            handlers,
            list(sys.meta_path),
        ]

    before = state()
    for n in range(3):
        with recording(f"r{n}"):
            assert state()[0] is not before[0]
        assert state() == before


def test_a_detached_capture_is_not_kept_alive(recording: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[weakref.ref[Any]] = []
    original = _capture.Capture.__init__

    def noted(self: Any, *args: Any, **kwargs: Any) -> None:
        kept.append(weakref.ref(self))
        original(self, *args, **kwargs)

    monkeypatch.setattr(_capture.Capture, "__init__", noted)
    with recording():
        _compiled()(torch.ones(1))
    gc.collect()
    assert kept
    assert kept[0]() is None


def test_code_compiled_before_is_counted_from_now_on(recording: Any) -> None:
    torch._dynamo.reset()
    run = _compiled(dynamic=False)
    run(torch.ones(1))
    run(torch.ones(1))
    with recording(reset=False) as recorded:
        for n in (1, 1, 1, 2, 2):
            run(torch.ones(n))
    run(torch.ones(1))
    assert recorded.records("head")[0].x["late"] is True
    assert recorded.calls() == [3, 2]
    (failed,) = recorded.records("guard_fail")
    assert failed.m["failed"][0]["kind"] == "TENSOR_MATCH"


def test_a_graph_compiled_while_attached_runs_on_after_it(recording: Any) -> None:
    with recording() as recorded:
        run = _compiled()
        run(torch.ones(2))
    assert torch.equal(run(torch.ones(2)), torch.full((2,), 2.0))
    assert recorded.calls() == [1]


def test_a_reset_through_an_alias_starts_a_new_epoch(recording: Any) -> None:
    from torch._dynamo import reset

    with recording() as recorded:
        _compiled()(torch.ones(1))
        reset()
        _compiled()(torch.ones(1))
        torch.compiler.reset()
        _compiled()(torch.ones(1))
    assert [tuple(r.c) for r in recorded.records("graph")] == [(0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 0, 2)]


def test_logging_may_be_disabled_or_set_anew(recording: Any) -> None:
    with recording() as recorded:
        logging.disable(logging.CRITICAL)
        try:
            _compiled()(torch.ones(1))
        finally:
            logging.disable(logging.NOTSET)
        torch._logging.set_logs()
        _compiled(lambda x: x + 1)(torch.ones(1))
    assert len(recorded.records("dynamo_start")) == 2
    assert len(recorded.records("compilation_metrics")) == 2


class _Other(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.names += record.metadata  # type: ignore[attr-defined]


@pytest.mark.parametrize("position", ["before", "after"])
def test_another_handler_sees_the_same_either_way(position: str, recording: Any) -> None:
    def seen(name: str, *, captured: bool) -> list[str]:
        other = _Other()
        if position == "before":
            TRACE.addHandler(other)
        try:
            if captured:
                with recording(name):
                    if position == "after":
                        TRACE.addHandler(other)
                    _compiled()(torch.ones(1))
            else:
                torch._dynamo.reset()
                TRACE.addHandler(other)
                _compiled()(torch.ones(1))
        finally:
            TRACE.removeHandler(other)
        return other.names

    seen("warm", captured=True)
    assert "dynamo_start" in seen("a", captured=True)
    assert seen("b", captured=True) == seen("c", captured=False)


def test_a_handler_that_raises_is_the_programs_own_business(recording: Any) -> None:
    class Raises(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise RuntimeError("not ours")

    handler = Raises()
    with recording() as recorded:
        TRACE.addHandler(handler)
        try:
            with pytest.raises(RuntimeError, match="not ours"):
                _compiled()(torch.ones(1))
        finally:
            TRACE.removeHandler(handler)
        torch._dynamo.reset()
        _compiled()(torch.ones(1))
    assert recorded.calls() == [1]


def test_a_callable_object_is_asked_no_more_than_without_capture(recording: Any) -> None:
    class Model:
        asked: ClassVar[list[str]] = []

        def __getattr__(self, name: str) -> Any:
            Model.asked.append(name)
            raise AttributeError(name)

        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1

    def asked(*, captured: bool) -> list[str]:
        Model.asked.clear()
        torch._dynamo.reset()
        if captured:
            with recording():
                _compiled(Model())(torch.ones(1))
        else:
            _compiled(Model())(torch.ones(1))
        return sorted(Model.asked)

    without = asked(captured=False)
    assert asked(captured=True) == without


def test_disabling_without_recursion_still_works(recording: Any) -> None:
    @torch.compiler.disable(recursive=False)  # type: ignore[untyped-decorator]
    def outer(x: torch.Tensor) -> torch.Tensor:
        return _compiled()(x) + helper(x)

    def helper(x: torch.Tensor) -> torch.Tensor:
        return x - 1

    def compiled_names() -> list[Any]:
        torch._dynamo.reset()
        torch._dynamo.utils.clear_compilation_metrics()
        outer(torch.ones(1))
        _compiled(outer)(torch.ones(1))
        return [metrics.co_name for metrics in torch._dynamo.utils.get_compilation_metrics()]

    without = compiled_names()
    with recording():
        assert compiled_names() == without


def test_a_frame_is_called_from_where_the_program_calls_it(recording: Any) -> None:
    run = _compiled()
    with recording() as recorded:
        run(torch.ones(1))
        line = sys._getframe().f_lineno - 1
    (process,) = recorded.processes
    call = recorded.records("convert")[0].m["call"]
    assert [process.file(call[0][0]), *call[0][1:]] == [
        __file__,
        line,
        "test_a_frame_is_called_from_where_the_program_calls_it",
    ]
    (start,) = recorded.records("dynamo_start")
    assert start.x["call"] == call
