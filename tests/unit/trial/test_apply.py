"""The part inside the user's process, on modules made up here. Real torch: tests/integration/trial."""

from __future__ import annotations

import json
import sys
from types import ModuleType

import pytest

from compilescope.trial import _apply, _apply_calls


@pytest.fixture
def notes(monkeypatch):
    written = []
    capture = ModuleType("compilescope.capture")
    capture.note = lambda kind, fields: written.append((kind, fields))
    monkeypatch.setitem(sys.modules, "compilescope.capture", capture)
    return written


@pytest.fixture
def settings(monkeypatch):
    module = ModuleType("made_up.config")
    module.limit = 8
    monkeypatch.setitem(sys.modules, "made_up.config", module)
    monkeypatch.setattr(_apply.atexit, "register", lambda _: None)
    return module


def started(change):
    """The application, and what waits for a module: name -> actions."""
    waiting = {}
    application = _apply.Application(change)
    application.start(lambda name, action: waiting.setdefault(name, []).append(action))
    return application, waiting


def test_a_setting_waits_for_its_module(settings, notes):
    application, waiting = started({"settings": {"made_up.config.limit": 64}})
    assert settings.limit == 8
    for action in waiting.pop("made_up.config"):
        action()
    assert settings.limit == 64
    assert not waiting
    application.finish()
    assert notes == [
        (
            "applied",
            {"set": {"made_up.config.limit": 64}, "failed": {}, "changed_by_program": {}, "overridden": {}},
        ),
    ]


def test_what_the_program_sets_itself_is_told(settings, notes):
    application, waiting = started({"settings": {"made_up.config.limit": 64}})
    waiting["made_up.config"][0]()
    settings.limit = 16
    application.finish()
    assert notes[0][1]["changed_by_program"] == {"made_up.config.limit": "16"}


def test_what_the_program_had_set_by_its_first_compiled_call_is_put_over(settings, notes):
    application, waiting = started({"settings": {"made_up.config.limit": 64}})
    waiting["made_up.config"][0]()
    settings.limit = 16
    calls = _apply_calls.Calls(lambda given: given, application._put_again, _apply._note)
    calls.stamped(None)
    assert settings.limit == 16
    calls.stamped(lambda: None)
    assert settings.limit == 64
    settings.limit = 8
    calls.stamped(lambda: None)
    application.finish()
    told = notes[-1][1]
    assert (told["overridden"], told["changed_by_program"]) == (
        {"made_up.config.limit": "16"},
        {"made_up.config.limit": "8"},
    )


def test_an_unknown_setting_is_told_and_not_made(settings, notes):
    application, waiting = started({"settings": {"made_up.config.limits": 64, "made_up.config.limit": 9}})
    waiting["made_up.config"][0]()
    application.finish()
    assert not hasattr(settings, "limits")
    assert settings.limit == 9
    assert "made_up.config.limits" in notes[0][1]["failed"]


def test_a_module_that_never_came_is_told(settings, notes):
    application, waiting = started({"settings": {"never.config.triton.limit": 1}})
    assert list(waiting) == ["never.config"]
    application.finish()
    assert notes[0][1]["failed"] == {"never.config.triton.limit": "the program never imported never.config"}


def test_text_that_is_not_json_is_refused():
    with pytest.raises(json.JSONDecodeError):
        _apply.apply("{", lambda name, action: None)


def test_nothing_waits_for_torch_when_nothing_is_asked(settings):
    assert started({"time_calls": False})[1] == {}
    assert "transformers.trainer" in started({"time_calls": True})[1]


def test_calls_are_told_in_chunks(notes):
    def callback():
        pass

    calls = _apply_calls.Calls(lambda given: given, lambda: None, _apply._note)
    for _ in range(_apply_calls.CHUNK + 1):
        fn = test_calls_are_told_in_chunks  # noqa: F841  found by name, as in compile_wrapper
        assert calls.stamped(callback) is callback
    assert calls.stamped(None) is None
    calls.flush()
    assert [(kind, note["n"], len(note["at_us"])) for kind, note in notes] == [
        ("calls", 1000, 1000),
        ("calls", 1001, 1),
    ]
    assert notes[0][1]["at_us"] == sorted(notes[0][1]["at_us"])


def test_only_so_many_callables_are_held(notes):
    calls = _apply_calls.Calls(lambda given: given, lambda: None, _apply._note)
    for _ in range(200):
        calls.stamped(lambda: None)
    calls.flush()
    assert len(notes) <= 64
