"""A change to try is handed to its own room, together with capture's way of waiting for a module."""

from __future__ import annotations

from types import SimpleNamespace

from compilescope.launch import _isolation


def attach(monkeypatch):
    """Attach with stand-ins for capture and trial; returns what was called."""
    called = []
    modules = {
        "compilescope.capture": SimpleNamespace(attach=lambda folder: called.append(("attach", str(folder)))),
        "compilescope.capture._imports": SimpleNamespace(after_import="after_import"),
        "compilescope.trial._apply": SimpleNamespace(apply=lambda *given: called.append(("apply", *given))),
    }
    monkeypatch.setattr(_isolation, "import_module", modules.__getitem__)
    _isolation.attach_capture("/REC", [])
    return called


def test_a_change_is_applied_once_capture_is_attached(monkeypatch):
    monkeypatch.setenv(_isolation.APPLY, '{"settings": {}}')
    assert attach(monkeypatch) == [("attach", "/REC"), ("apply", '{"settings": {}}', "after_import")]


def test_without_a_change_nothing_of_trial_is_loaded(monkeypatch):
    monkeypatch.delenv(_isolation.APPLY, raising=False)
    assert attach(monkeypatch) == [("attach", "/REC")]
