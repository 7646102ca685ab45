"""An exception inside any hook never reaches the program, changes no result, and is counted."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import compilescope.capture
from compilescope.capture import _capture
from compilescope.capture._capture import Capture
from compilescope.capture._control import Control
from compilescope.capture._conversions import Conversions
from compilescope.capture._eager_calls import EagerCalls
from compilescope.capture._entries import Entries
from compilescope.capture._fx_graphs import FxGraphs
from compilescope.capture._graphs import Graphs
from compilescope.capture._guard_failures import GuardFailures
from compilescope.capture._late import Late
from compilescope.capture._pgo import Pgo
from compilescope.capture._stacks import Stacks
from compilescope.capture._ticks import Ticks
from compilescope.capture._trace import TraceHandler
from compilescope.capture._warnings import WarningHandler
from compilescope.recording.writer import Writer

pytestmark = pytest.mark.xdist_group("capture_failing_hooks")


def _added(x: torch.Tensor, n: int) -> torch.Tensor:
    return x + n


def _broken(x: torch.Tensor, n: int) -> torch.Tensor:
    y = x.sin()
    torch._dynamo.graph_break()
    return y * n


def _everything(compiling: Callable[..., Any]) -> list[torch.Tensor]:
    """Compiles, breaks, recompiles, is refused, resets, takes a stance: every hook but Inductor's runs."""
    out = []
    with torch._dynamo.config.patch(recompile_limit=2):
        for function in (_added, _broken):
            compiled = compiling(function)
            out += [compiled(torch.ones(3), n) for n in (1, 2, 3, 4, 3, 4, 1)]
    with torch.compiler.set_stance("force_eager"):
        out.append(compiling(_added)(torch.ones(1), 9))
    torch._dynamo.reset()
    grown = compiling(lambda x: x * x.shape[0], dynamic=None)
    return out + [grown(torch.ones(n)) for n in (2, 3, 4)]


def _compiling(function: Callable[..., Any], dynamic: bool | None = False) -> Any:
    return torch.compile(function, backend="eager", dynamic=dynamic)


def _plain(function: Callable[..., Any], **_: Any) -> Any:
    return function


def _recompiling(compiling: Callable[..., Any]) -> list[torch.Tensor]:
    run = compiling(_added)
    return [run(torch.ones(3), n) for n in (1, 2, 1)]


def _is_as_without_a_compiler(program: Callable[..., Any] = _everything) -> bool:
    expected, got = program(_plain), program(_compiling)
    return len(expected) == len(got) and all(torch.equal(a, b) for a, b in zip(expected, got, strict=True))


class HookError(Exception):
    pass


def _raising(error: type[BaseException] = HookError) -> Callable[..., Any]:
    def part(*_: Any, **__: Any) -> Any:
        raise error("inside a hook")

    return part


_PARTS = [
    (TraceHandler, "_write"),
    (TraceHandler, "flush_phases"),
    (WarningHandler, "_write"),
    (Graphs, "_describe"),
    (Graphs, "_register"),
    (Conversions, "_begin"),
    (Conversions, "_end"),
    (Conversions, "_write"),
    (Conversions, "_refuse"),
    (EagerCalls, "began"),
    (EagerCalls, "refused"),
    (EagerCalls, "_missed"),
    (EagerCalls, "refresh"),
    (EagerCalls, "remove"),
    (Entries, "_observe"),
    (GuardFailures, "_observe"),
    (Control, "_reset"),
    (Control, "_stance"),
    (Control, "_optimize"),
    (Control, "_target"),
    (Ticks, "snapshot"),
    (Pgo, "_observe"),
    (Late, "remove"),
    (Capture, "_write_hooks"),
]


@pytest.mark.parametrize(("owner", "name"), _PARTS, ids=[f"{o.__name__}.{n}" for o, n in _PARTS])
def test_a_failing_part_is_counted_and_changes_nothing(
    owner: type, name: str, recording: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, _raising())
    with recording() as recorded:
        assert _is_as_without_a_compiler()
    assert [n for why, n in recorded.lost().items() if "HookError" in why] or name == "remove"


@pytest.mark.parametrize("name", ["record", "file_id", "lost", "close"])
def test_a_failing_writer_changes_nothing(name: str, recording: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Writer, name, _raising(OSError))
    with recording():
        assert _is_as_without_a_compiler()


_INSTALLS = {
    "graphs": (Graphs, "install"),
    "conversions": (Conversions, "install"),
    "entries": (Entries, "install"),
    "guard_failures": (GuardFailures, "install"),
    "reset": (Control, "install_reset"),
    "stance": (Control, "install_stance"),
    "compile_calls": (Control, "install_compile_calls"),
    "late": (Late, "install"),
    "pgo": (Pgo, "install"),
    "trace": (_capture, "install_trace"),
    "warnings": (_capture, "install_warnings"),
    "out_of_dynamo": (Capture, "_hide"),
}


@pytest.mark.parametrize("hook", _INSTALLS)
def test_a_hook_that_cannot_go_in_is_named_and_the_others_do(
    hook: str, recording: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*_INSTALLS[hook], _raising())
    with recording() as recorded:
        assert _is_as_without_a_compiler(_recompiling)
    hooks = recorded.records("process")[0].m["hooks"]
    assert hooks.pop(hook) == "missing: HookError"
    hooks.pop("skip_reasons")  # nothing is patched for these; torch has them from 2.13 on
    assert set(hooks.values()) == {"ok"}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, on importing Inductor
def test_inductors_hook_may_fail(recording: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FxGraphs, "_observe", _raising())
    a = torch.randn(4, 4)
    with recording() as recorded, torch._inductor.config.patch(fx_graph_cache=False):
        assert torch.equal(torch.compile(torch.mm)(a, a), torch.mm(a, a))
    assert any("HookError" in why for why in recorded.lost())


@pytest.mark.parametrize("owner", [Stacks, TraceHandler, Ticks], ids=lambda owner: owner.__name__)
def test_a_forked_child_survives_a_failing_fork_handler(
    owner: type, recording: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, "forked", _raising())
    with recording() as recorded:
        _compiling(_added)(torch.ones(3), 1)
        pid = os.fork()
        if pid == 0:
            os._exit(0 if torch.equal(_compiling(_added)(torch.ones(3), 5), torch.full((3,), 6.0)) else 1)
        assert os.waitpid(pid, 0)[1] == 0
    assert any("HookError" in why for why in recorded.lost())


def test_late_adoption_may_fail(recording: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Late, "_adopt", _raising())
    torch._dynamo.reset()
    compiled = _compiling(_added)
    compiled(torch.ones(3), 1)
    with recording(reset=False) as recorded:
        assert torch.equal(compiled(torch.ones(3), 1), torch.full((3,), 2.0))
        assert torch.equal(compiled(torch.ones(3), 2), torch.full((3,), 3.0))
    assert any("HookError" in why for why in recorded.lost())


def test_open_phases_may_fail_in_the_tick_thread(recording: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ticks, "_open_phases", _raising())
    monkeypatch.setattr(Ticks, "_interval", lambda _: 0.01)
    with recording() as recorded:
        assert _is_as_without_a_compiler()
    assert any("HookError" in why for why in recorded.lost())


def test_the_head_may_fail(recording: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_capture, "head", _raising())
    with recording() as recorded:
        assert _is_as_without_a_compiler(_recompiling)
    assert "head: HookError" in recorded.lost()
    assert recorded.records("graph")


@pytest.mark.parametrize(
    ("owner", "name"),
    [(TraceHandler, "_write"), (Conversions, "_begin"), (Graphs, "_describe"), (Conversions, "_end")],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_an_interrupt_during_a_hook_still_stops_the_program(
    owner: type, name: str, recording: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with recording() as recorded:
        with monkeypatch.context() as patching:
            patching.setattr(owner, name, _raising(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                _everything(_compiling)
        torch._dynamo.reset()
        assert _is_as_without_a_compiler(_recompiling)
    assert recorded.records("graph")
    assert recorded.records("end")


_INTERRUPTED = """
import torch
from compilescope.capture._eager_calls import EagerCalls

missed, pressed = EagerCalls._missed, []

def interrupted(self, caller):
    missed(self, caller)
    if not pressed:
        pressed.append(True)
        raise KeyboardInterrupt

EagerCalls._missed = interrupted
run = torch.compile(lambda x, n: x + n, backend="eager", dynamic=False)
with torch._dynamo.config.patch(recompile_limit=1):
    try:
        for n in range(100_000):
            run(torch.ones(2), n)
    except KeyboardInterrupt:
        print("stopped")
"""


def test_an_interrupt_in_the_guard_hook_stops_the_program_and_does_not_abort_it(scripts: Any) -> None:
    done = scripts.run(_INTERRUPTED)
    assert (done.returncode, done.stdout) == (0, "stopped\n")


def test_a_full_disk_costs_one_line_and_no_result(
    recording: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from compilescope.recording.appendfile import AppendFile

    def no_room(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(AppendFile, "append", no_room)
    with recording():
        assert _is_as_without_a_compiler(_recompiling)
    told = [line for line in capfd.readouterr().err.splitlines() if "compilescope" in line]
    assert len(told) == 1
    assert "No space left on device" in told[0]
    assert "goes on" in told[0]


@pytest.mark.parametrize("folder", ["a_file/r", "no_right/r", "/proc/none/r", "nul\0r"])
def test_a_folder_that_cannot_be_made_is_no_reason_to_stop(folder: str, tmp_path: Any) -> None:
    (tmp_path / "a_file").write_text("")
    (tmp_path / "no_right").mkdir(mode=0o500)
    torch._dynamo.reset()
    compilescope.capture.attach(tmp_path / folder)
    try:
        assert _is_as_without_a_compiler(_recompiling)
    finally:
        compilescope.capture.detach()


def test_a_module_with_hooks_trains_on_with_every_part_failing(
    recording: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for owner, name in _PARTS:
        monkeypatch.setattr(owner, name, _raising())
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    model[0].register_forward_hook(lambda _m, _a, out: out * 2)
    x = torch.randn(2, 3, requires_grad=True)
    model(x).sum().backward()
    expected = x.grad
    x.grad = None
    with recording():
        torch.compile(model, backend="aot_eager")(x).sum().backward()
    assert torch.equal(x.grad, expected)
