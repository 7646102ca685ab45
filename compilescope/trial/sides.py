"""The programs that are compared: the one given, the one that was recorded, a copy with diffs applied."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from compilescope.advice import Finding
from compilescope.errors import UsageError
from compilescope.launch import Target
from compilescope.model import Run
from compilescope.trial.changes import Change
from compilescope.trial.overlay import overlay
from compilescope.trial.patching import file_of, patched
from compilescope.trial.runs import Side


@dataclass(frozen=True, slots=True)
class Diffs:
    """A copy of the program with diffs applied, and the rules that these answer. No target: none was."""

    target: Target | None = None
    rules: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    shown: Callable[[str], str] = str


def with_diffs(
    run: Run, findings: Sequence[Finding], target: Target, rules: Collection[str] | None, folder: Path
) -> Diffs:
    """Apply the diffs of all findings of ``rules`` (None: of all findings), as far as they fit together."""
    texts: dict[Path, str] = {}
    answered, words, problems = set[str](), list[str](), list[str]()
    for finding in findings:
        if finding.diff is None or (rules is not None and finding.rule not in rules):
            continue
        try:
            path = _located(run, target, file_of(finding.diff))
            texts[path] = patched(texts.get(path) or path.read_text("utf-8"), finding.diff)
        except (UsageError, OSError, UnicodeError) as problem:
            problems.append(f"{finding.rule} at {finding.place}: {problem}")
            continue
        answered.add(finding.rule)
        words.append(f"the diff of {finding.rule} at {finding.place}")
    if not answered:
        return Diffs(problems=tuple(problems))
    copy = overlay(target, texts, folder / "changed-program")
    return Diffs(copy.target(target), frozenset(answered), tuple(words), tuple(problems), copy.shown)


def _located(run: Run, target: Target, name: str) -> Path:
    """A file of the report: it may have been recorded in a folder that is elsewhere, or gone, by now."""
    recorded = run.launch.get("cwd")
    folders = [Path.cwd(), Path(target.name).resolve().parent]
    folders += [Path(recorded)] if isinstance(recorded, str) else []
    for folder in folders:
        if (folder / name).is_file():
            return (folder / name).resolve()
    raise UsageError(f"{name} is not there")


def edited_sides(run: Run, target: Target, folder: Path) -> tuple[tuple[Side, Side], list[str]]:
    """What was recorded against ``target``: another script, or the same one with edits since then.

    Raises UsageError when both are the same, or the recorded one cannot be run again.
    """
    recorded = _recorded_target(run)
    if recorded is not None and recorded.kind == "script" and not _same_script(recorded, target):
        if not Path(recorded.name).is_file():
            raise UsageError(f"the recorded program {recorded.name} is not there any more")
        names = {_shown(target): _shown(recorded)}
        changed = Side("changed", target, Change(), partial(_renamed, names))
        return (Side("base", recorded, Change()), changed), [f"{target.name} instead of {recorded.name}"]
    before = _edited_since(run, target)
    if not before:
        raise UsageError(
            "nothing is changed: the program is as it was recorded",
            hint="edit it, give an edited copy as SCRIPT, or apply a change: --apply all, --apply-diff all",
        )
    copy = overlay(target, before, folder / "recorded-program")
    base = Side("base", copy.target(target), Change(), copy.shown)
    return (base, Side("changed", target, Change())), [f"edits in {', '.join(p.name for p in before)}"]


def recorded_target(run: Run) -> Target:
    """The program of the recording, from its ``run.json``. Raises UsageError when that does not tell."""
    found = _recorded_target(run)
    if found is None:
        raise UsageError(
            "the recording does not say how its program was started", hint="give it after --: -- SCRIPT ARGS"
        )
    return found


def _recorded_target(run: Run) -> Target | None:
    """A script is looked for where it was recorded, then here. None for a block recorded from within."""
    command, facts, cwd = (run.launch.get(key) for key in ("command", "target", "cwd"))
    if not isinstance(command, list) or not isinstance(facts, dict):
        return None
    words = [str(word) for word in command[1:]]
    kind = facts.get("kind")
    if kind == "script" and words and words[0] != "-":
        name, *args = words
        there = Path(cwd) / name if isinstance(cwd, str) else Path(name)
        return Target("script", str(there if there.is_file() else Path(name)), tuple(args))
    option = {"module": "-m", "code": "-c"}.get(str(kind))
    if option is not None and words[:1] == [option] and len(words) > 1 and not _is_within(run):
        return Target("module" if option == "-m" else "code", words[1], tuple(words[2:]))
    return None


def _is_within(run: Run) -> bool:
    notes = run.launch.get("notes")
    return any("recorded from within" in str(note) for note in notes) if isinstance(notes, list) else False


def _shown(target: Target) -> str:
    """As reports name the script: relative to the working directory where it is below that."""
    path = Path(target.name).absolute()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def _renamed(names: Mapping[str, str], identity: str) -> str:
    return "|".join(names.get(part, part) for part in identity.split("|"))


def _same_script(one: Target, other: Target) -> bool:
    return other.kind != "script" or Path(one.name).resolve() == Path(other.name).resolve()


def _edited_since(run: Run, target: Target) -> dict[Path, str]:
    """Files of the program whose text is not what the recording holds, with the recorded text."""
    folder = Path(target.name).resolve().parent
    texts = {
        Path(file).resolve(): text for process in run.processes for file, text in process.sources.items()
    }
    return {
        path: text for path, text in texts.items() if path.is_relative_to(folder) and _differs(path, text)
    }


def _differs(path: Path, text: str) -> bool:
    try:
        return path.read_text("utf-8") != text
    except (OSError, UnicodeError):
        return True
