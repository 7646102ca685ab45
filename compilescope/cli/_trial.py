"""What ``verify`` is told on the command line, as values."""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from compilescope.cli._terminal import say
from compilescope.errors import OutputError, UsageError
from compilescope.launch import Target

_KINDS: dict[str, Literal["module", "code"]] = {"-m": "module", "-c": "code"}


def target_of(words: Sequence[str], recording: Path) -> tuple[Target, Path]:
    """What stands after ``--``, as after ``run``, here; without it the recorded program, where it was run.

    Raises UsageError for an option without a name, and where the recording does not name its program.
    """
    if not words:
        return _recorded(recording)
    kind = _KINDS.get(words[0])
    if kind is None:
        return Target("script", words[0], tuple(words[1:])), Path.cwd()
    if len(words) < 2:
        raise UsageError(f"{words[0]} needs a {kind}")
    return Target(kind, words[1], tuple(words[2:])), Path.cwd()


def _recorded(recording: Path) -> tuple[Target, Path]:
    from compilescope.model import load
    from compilescope.recording import open_recording
    from compilescope.trial.sides import recorded_target

    run = load(open_recording(recording), detail=False)
    target, cwd = recorded_target(run), run.launch.get("cwd")
    place = Path(cwd) if isinstance(cwd, str) and Path(cwd).is_dir() else Path.cwd()
    if place.resolve() != Path.cwd().resolve():
        say(f"running in {place}, as recorded")
    return target, place


@dataclass(frozen=True, slots=True)
class Told:
    """What to print, in either form, and the exit status."""

    text: Callable[[], str]
    plain: Callable[[], dict[str, Any]]
    exit_status: int


def answer(
    recording: Path,
    target: Target,
    folder: Path,
    *,
    either: Sequence[str],
    rules: Sequence[str],
    diffs: Sequence[str],
    bucketed: bool,
    pairs: Sequence[str],
    check_ops: bool,
    against: str | None,
    repeats: int,
    warm_cache: bool,
) -> Told:
    """Runs what was asked for, into ``folder``. Raises UsageError and RecordingError."""
    settings, mode = settings_of(pairs)
    if check_ops:
        return _ops(recording, target, folder)
    if against is not None:
        return _against_eager(target, folder, settings, mode, repeats, warm_cache)
    from compilescope.trial import verify
    from compilescope.trial.plain import trial_json
    from compilescope.trial.text import trial_text
    from compilescope.trial.verdicts import keep_verdicts

    trial = verify(
        recording, target, rules=rules, diffs=diffs, either=either, bucketed=bucketed, settings=settings,
        mode=mode, repeats=repeats, folder=folder, fresh_cache=not warm_cache, say=say,
    )  # fmt: skip
    keep_verdicts(recording, trial, say)
    words = {outcome.verdict.word for outcome in trial.outcomes}
    failed = "harmful" in words or (words and "verified" not in words)
    return Told(lambda: trial_text(trial), lambda: trial_json(trial), 1 if failed else 0)


def _against_eager(
    target: Target,
    folder: Path,
    settings: dict[str, object],
    mode: str | None,
    repeats: int,
    warm_cache: bool,
) -> Told:
    from compilescope.trial import against_eager
    from compilescope.trial.changes import Change
    from compilescope.trial.plain import eager_json
    from compilescope.trial.text import eager_text

    found = against_eager(
        target,
        repeats=repeats,
        folder=folder,
        change=Change(settings=settings, mode=mode),
        fresh_cache=not warm_cache,
        say=say,
    )
    return Told(lambda: eager_text(found), lambda: eager_json(found), 1 if found.pays is False else 0)


def _ops(recording: Path, target: Target, folder: Path) -> Told:
    from compilescope.trial.ops import check_ops, ops_json, ops_text

    checked = check_ops(recording, target, folder, say)
    return Told(lambda: ops_text(checked), lambda: ops_json(checked), 1 if checked.findings else 0)


def settings_of(pairs: Sequence[str]) -> tuple[dict[str, object], str | None]:
    """``torch._dynamo.config.recompile_limit=64`` as name and Python value; ``mode=NAME`` apart."""
    settings: dict[str, object] = {}
    mode = None
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"--set takes NAME=VALUE, not {pair!r}")
        if name == "mode":
            mode = text
        elif name.startswith("torch.") and name.count(".") > 1:
            settings[name] = _value(text)
        else:
            raise UsageError(
                f"{name} is no setting of torch", hint="such as torch._dynamo.config.recompile_limit"
            )
    return settings, mode


def _value(text: str) -> object:
    """A Python literal of JSON's kinds, else the text itself."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, bool | int | float | str | None) else text


@contextmanager
def kept_folder(keep: Path | None) -> Iterator[Path]:
    """Where recordings and outputs of the runs go: ``keep``, made here, or a place removed afterwards."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="compilescope-verify-") as folder:
            yield Path(folder)
        return
    try:
        keep.mkdir(parents=True)
    except OSError as problem:
        raise OutputError(
            f"cannot make {keep}: {problem.strerror}", hint="--keep names a new folder"
        ) from problem
    yield keep.absolute()
