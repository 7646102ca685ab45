"""The command line of ``verify``, up to where it would start something."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from compilescope.cli._trial import kept_folder, settings_of
from compilescope.cli.verify import command
from compilescope.errors import CompileScopeError, OutputError, RecordingNotFound, UsageError

from .conftest import CORPUS


def run(*words):
    done = CliRunner().invoke(command, words, standalone_mode=False)
    assert done.exception is not None
    return done.exception


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("torch._dynamo.config.recompile_limit=64", 64),
        ("torch._dynamo.config.suppress_errors=True", True),
        ("torch.compiler.config.dynamic_sources=L['x'],L['y']", "L['x'],L['y']"),
        ("torch._inductor.config.triton.cudagraphs=False", False),
        ("torch.x.y=(1, 2)", "(1, 2)"),
        ("torch.x.y=__import__('os')", "__import__('os')"),
        ("torch.x.y=", ""),
    ],
)
def test_values_are_literals_or_text(pair, value):
    assert settings_of([pair]) == ({pair.partition("=")[0]: value}, None)


def test_a_mode_is_no_setting():
    assert settings_of(["mode=max-autotune"]) == ({}, "max-autotune")


@pytest.mark.parametrize(
    "pair", ["recompile_limit=3", "torch.x=1", "torch._dynamo.config.x", "=3", "os.environ.x=1"]
)
def test_what_is_no_setting_of_torch(pair):
    with pytest.raises(UsageError):
        settings_of([pair])


def test_kept_recordings_never_go_into_something_else(tmp_path):
    with pytest.raises(OutputError), kept_folder(tmp_path):
        pass
    with kept_folder(tmp_path / "a" / "b") as folder:
        assert folder.is_dir()
    assert folder.is_dir()
    with kept_folder(None) as folder:
        assert folder.is_dir()
    assert not folder.exists()


def test_nothing_starts_without_something_to_try(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("")
    recording = str(CORPUS / "01_print_in_forward.zip")
    problem = run(recording, "--apply", "size_drift", "--", "train.py")
    assert isinstance(problem, UsageError)
    assert "size_drift is no finding of the recording" in problem.message
    problem = run(recording, "--apply-diff", "all", "--", "train.py")
    assert isinstance(problem, UsageError)
    assert isinstance(run("no.compilescope", "--apply", "all", "--", "train.py"), RecordingNotFound)
    assert isinstance(run(recording, "--against", "eager", "--apply", "all", "--", "train.py"), UsageError)
    assert isinstance(run(recording, "--apply", "all", "--", "gone.py"), CompileScopeError)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--check-ops", "--apply", "all"), "nothing can be applied with it"),
        (("--check-ops", "--against", "eager"), "nothing can be applied with it"),
        (("--against", "eager", "--bucketed"), "goes with --set"),
        (("--bucketed",), "buckets are made for the sizes of findings"),
    ],
)
def test_what_does_not_go_together_is_said(words, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("")
    problem = run(*words, str(CORPUS / "10_batch_size_drift.zip"), "--", "train.py")
    assert isinstance(problem, UsageError)
    assert told in problem.message
