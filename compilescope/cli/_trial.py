"""What ``verify`` is told on the command line, as values."""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from compilescope.errors import OutputError, UsageError


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
