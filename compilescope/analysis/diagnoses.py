"""Why nothing was compiled, when nothing was: one plain sentence each, the certain ones first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from compilescope.analysis.caches import served_from_cache
from compilescope.analysis.failures import failed
from compilescope.analysis.index import Index
from compilescope.analysis.paths import called
from compilescope.analysis.report import Diagnosis, Skip

_DISABLING = ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")
_BUILTIN_COMPILE_WORKS = (2, 14)


def diagnoses(indexes: Sequence[Index], skips: Sequence[Skip]) -> list[Diagnosis]:
    """Empty when something was compiled and no cache served it."""
    processes = [index.process for index in indexes]
    found = []
    if not any(p.graphs for p in processes):
        found = _nothing_compiled(indexes, skips)
    cached = served_from_cache(processes)
    if cached:
        found.append(Diagnosis("served_from_cache", cached + "."))
    late = [p for p in processes if p.late]
    for process in late:
        text = "Capture began after something was compiled: what came before is known in part only."
        found.append(Diagnosis("attached_late", text, process.id))
    return found


def _nothing_compiled(indexes: Sequence[Index], skips: Sequence[Skip]) -> list[Diagnosis]:
    if not indexes:
        text = "Nothing was compiled: the program did not import torch, or ended before it did."
        return [Diagnosis("torch_not_imported", text)]
    if any(failed(index, c) for index in indexes for c in index.process.compiles.values()):
        return []  # the failures say it
    for rule in (_switched_off, _stance, _builtin_module, _all_broken, _all_skipped, _never_called, _no_call):
        found = [d for index in indexes if (d := rule(index, skips))]
        if found:
            return found[:1]
    return []


def _switched_off(index: Index, _: Sequence[Skip]) -> Diagnosis | None:
    process = index.process
    disabled = process.config.get("disable") is True or any(t.disabled for t in process.targets)
    if not disabled:
        return None
    names = [name for name in _DISABLING if name in process.env]
    by = f"the environment variable {names[0]}" if names else "torch._dynamo.config.disable"
    text = f"Nothing was compiled: torch.compile is switched off by {by}."
    return Diagnosis("compile_disabled", text, process.id)


def _stance(index: Index, _: Sequence[Skip]) -> Diagnosis | None:
    stances = [s for s in index.process.stances if s not in ("default", "")]
    if not stances:
        return None
    text = f'Nothing was compiled: torch.compiler.set_stance("{stances[-1]}") was in force.'
    return Diagnosis("stance", text, index.process.id)


def _builtin_module(index: Index, _: Sequence[Skip]) -> Diagnosis | None:
    """Before 2.14 ``nn.Linear(...).compile()`` compiles nothing: it replaces a call in torch's own files."""
    process = index.process
    if process.conversions or _version(process.versions.get("torch", "")) >= _BUILTIN_COMPILE_WORKS:
        return None
    for target in process.targets:
        if target.target.startswith("torch.nn.") and (target.name or "").endswith("_call_impl"):
            name = target.target.rpartition(".")[2]
            place = index.user_call(target.call)
            where = f" ({index.paths.at(place.file, place.line)})" if place else ""
            text = (
                f"Nothing was compiled: .compile() of a built-in module such as {name}{where} has no effect "
                "before torch 2.14. Use torch.compile(module)."
            )
            return Diagnosis("builtin_module_compile", text, process.id)
    return None


def _all_broken(index: Index, _: Sequence[Skip]) -> Diagnosis | None:
    if not index.breaks:
        return None
    text = "Nothing was compiled: every function broke, or was skipped, before its first operation."
    first = index.breaks[0].text
    if first.file is not None and first.line is not None:
        text += f" The first break: {index.paths.at(first.file, first.line)}."
    return Diagnosis("no_operation_compiled", text, index.process.id)


def _all_skipped(index: Index, skips: Sequence[Skip]) -> Diagnosis | None:
    own = [s for s in skips if s.process == index.process.id]
    if not own:
        return None
    reason, _ = Counter(s.reason or "unknown reason" for s in own).most_common(1)[0]
    first = own[0]
    text = (
        f"Nothing was compiled: torch looked at {called(first.function)} {first.file}:{first.line}"
        f"{f' and {len(own) - 1} more' if len(own) > 1 else ''} and skipped it ({reason})."
    )
    return Diagnosis("every_frame_skipped", text, index.process.id)


def _never_called(index: Index, _: Sequence[Skip]) -> Diagnosis | None:
    process = index.process
    if not process.targets or process.conversions:
        return None
    target = process.targets[0]
    place = index.user_call(target.call)
    where = f" at {index.paths.at(place.file, place.line)}" if place else ""
    name = target.name or target.target.rpartition(".")[2]
    text = (
        f"Nothing was compiled: torch.compile was asked for {name}{where}, but no call of it reached Dynamo."
    )
    return Diagnosis("compiled_function_not_called", text, process.id)


def _no_call(index: Index, _: Sequence[Skip]) -> Diagnosis | None:
    process = index.process
    if process.compile_calls or process.targets or process.conversions:
        return None
    text = "Nothing was compiled: no call of torch.compile was reached."
    return Diagnosis("no_torch_compile", text, process.id)


def _version(text: str) -> tuple[int, int]:
    match = re.match(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else _BUILTIN_COMPILE_WORKS
