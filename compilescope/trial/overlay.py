"""A copy of a program's folder in which some files differ: everything else is a link to the original."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from compilescope.errors import OutputError, UsageError
from compilescope.launch import Target


@dataclass(frozen=True, slots=True)
class Overlay:
    """``root`` stands for ``original``. Both are absolute, without links."""

    root: Path
    original: Path

    def target(self, target: Target) -> Target:
        """The same program from here. Its working directory stays, its ``__file__`` does not."""
        return replace(target, name=str(self.root / Path(target.name).name))

    def shown(self, text: str) -> str:
        """``text`` with names of files in here as names of the originals, relative to where we are."""
        here = str(self.root) + "/"
        if here not in text:
            return text
        cwd = Path.cwd().resolve()
        place = str(self.original)
        if self.original == cwd:
            return text.replace(here, "")
        if self.original.is_relative_to(cwd):
            place = str(self.original.relative_to(cwd))
        return text.replace(here, place + "/")


def overlay(target: Target, texts: Mapping[Path, str], root: Path) -> Overlay:
    """Make one below ``root`` (which does not exist yet) with other ``texts`` of some absolute paths.

    Raises UsageError for a program that is no script file, or a file that is not in its folder.
    """
    if target.kind != "script" or target.name == "-":
        raise UsageError("only a script file can be changed on a copy", hint="edit it, and give it as SCRIPT")
    original = Path(target.name).resolve().parent
    made = Overlay(root.resolve(), original)
    try:
        _mirror(original, made.root)
        for path, text in {_script(target): None, **texts}.items():
            if not path.is_relative_to(original):
                raise UsageError(f"{path} is not below {original}, the folder of the program")
            _put(made, path.relative_to(original), path.read_text("utf-8") if text is None else text)
    except (OSError, UnicodeError) as problem:
        raise OutputError(f"cannot copy the program to {root}: {problem}") from problem
    return made


def _script(target: Target) -> Path:
    """A link as the script would be resolved, and its folder become the first of ``sys.path``."""
    return Path(target.name).resolve()


def _mirror(folder: Path, copy: Path) -> None:
    copy.mkdir(parents=True)
    for entry in folder.iterdir():
        if entry.name != "__pycache__":  # what is compiled from a changed file must not land in it
            (copy / entry.name).symlink_to(entry)


def _put(made: Overlay, relative: Path, text: str) -> None:
    place = made.root
    for part in relative.parts[:-1]:
        place = place / part
        if place.is_symlink():
            source = place.readlink()
            place.unlink()
            _mirror(source, place)
    file = place / relative.name
    file.unlink(missing_ok=True)
    file.write_text(text, encoding="utf-8")
