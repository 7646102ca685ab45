"""Rules for compiles that ended in an error, raised or suppressed."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence

from compilescope.advice.break_words import WORDS
from compilescope.advice.cause import Cause, Place, Telling, finding
from compilescope.advice.facts import Facts, Named, Rows
from compilescope.advice.failure_diffs import diff_of
from compilescope.advice.failure_words import DAMAGED_FILE
from compilescope.advice.failure_words import WORDS as FAILURE_WORDS
from compilescope.advice.fill import fill
from compilescope.advice.finding import Finding
from compilescope.analysis.paths import called
from compilescope.analysis.report import Failure
from compilescope.model.clipped import clipped

_NO_FAKE = re.compile(
    r"no fake impl|Missing fake|register_fake|fake tensor call.*NotImplementedError", re.IGNORECASE
)
_OP = re.compile(r"CustomOpDef\(([\w.]+::\w+)\)|\b([\w]+)\.(\w+)\.default")
_PINNED = re.compile(r"marked (.+?) as dynamic but your code specialized it to be a constant \((\d+)\)")
_FULLGRAPH_CAUSES = (
    ("data_dependent_branch", re.compile(r"^Data-dependent branching|data-dependent (?:jump|assert)", re.I)),
    ("scalar_read", re.compile(r"Tensor\.item\(\)|Tensor\.tolist\(\)|\.item\(\) call")),
    ("data_dependent_shape", re.compile(r"Dynamic shape operator|data-dependent|unbacked", re.I)),
    ("print_in_compiled_region", re.compile(r"builtin (?:operator )?`?print\b")),
    ("logging_in_compiled_region", re.compile(r"logging\.Logger")),
    ("numpy_unsupported", re.compile(r"numpy", re.I)),
    ("context_manager_unsupported", re.compile(r"context manager", re.I)),
)


_TOLD = frozenset(("suppressed_error", "backend_error", "error_in_compiled_code", "fullgraph_violation"))
_LONGEST = 160
_RAISED = re.compile(r": got (\w+\(.+\))\W*$")
# What a loader says of a library that was cut short: by a full disk, or a process killed while it wrote.
# Only files that are Inductor's by their path: the text of an error may name any, and this is deleted.
_DAMAGED = re.compile(
    r"(?P<file>(?:/|[A-Za-z]:\\)[^:'\"]*[/\\]torchinductor_[^:'\"]*\.(?:so|pyd|dylib|dll)): *"
    r"(?:file too short|invalid ELF header|cannot read file data|ELF load command|file truncated)"
)
_BACKEND = frozenset(("BackendCompilerFailed", "InductorError", "LoweringException", "CompilationError"))


def failures(facts: Facts, rows: Rows) -> Iterator[Finding]:
    groups: dict[tuple[str, ...], list[Named[Failure]]] = defaultdict(list)
    for named in rows.failures:
        row = named.row
        key = facts.function_key(row.file, row.line, row.function)
        groups[(rule_of(row), row.exception, str(row.line), *key)].append(named)
    for group in groups.values():
        yield _finding(facts, rule_of(group[0].row), group)


def rule_of(row: Failure) -> str:
    if _NO_FAKE.search(row.message):
        return "custom_op_missing_fake"
    if "ConstraintViolation" in row.exception:
        return "dynamic_dim_pinned"
    if row.exception == "FailOnRecompileLimitHit":
        return "recompile_limit_raises"
    if row.suppressed:
        return "suppressed_error"
    if row.exception in _BACKEND or row.phase == "inductor":
        return "backend_error"
    return "fullgraph_violation" if row.exception == "Unsupported" else "error_in_compiled_code"


def _finding(facts: Facts, rule: str, group: Sequence[Named[Failure]]) -> Finding:
    row = group[0].row
    cause = _fullgraph_cause(row) if rule == "fullgraph_violation" else None
    inner = WORDS[cause] if cause else None
    pinned = _PINNED.search(row.message)
    op = op_of(row)
    values = {
        "op": op or "called here",
        "dim": _dim(pinned[1]) if pinned else "a dim",
        "size": pinned[2] if pinned else "it was first called with",
    }
    damaged = _damaged(row.message) if rule in ("backend_error", "suppressed_error") else None
    words = DAMAGED_FILE if damaged else FAILURE_WORDS[rule]
    summary = fill(words.summary, values)
    if inner:
        summary += f": {inner.summary}"
    elif rule in _TOLD and row.message:
        summary += f": {_error_text(row.message)}"
    telling = Telling(
        rule=rule,
        fix_kind=inner.fix_kind if inner else words.fix_kind,
        summary=f"{called(row.function)}: {summary}",
        fix=inner.fix if inner else words.fix,
        command=f"rm {shlex.quote(damaged)}" if damaged else None,
        subject=op or cause or row.exception,
        diff=diff_of(facts.sources, rule, row, op=op, cause=cause, size=pinned[2] if pinned else None),
        could_be_wrong=words.wrong,
        notes=tuple(dict.fromkeys(n.row.message for n in group if n.row.message))[:3],
    )
    place = Place(row.file, row.line, row.function, row.code)
    return finding(facts, Cause(failures=tuple(group)), place, telling, "high")


def _damaged(message: str) -> str | None:
    """The file of Inductor's cache that is not whole. A path that leaves the cache again is none of it."""
    found = _DAMAGED.search(message)
    return found["file"] if found and ".." not in re.split(r"[/\\]", found["file"]) else None


def _error_text(message: str) -> str:
    """What was raised: where torch tells what it did when it happened, the error at the end of that."""
    inner = _RAISED.search(message)
    return clipped(inner[1] if inner else message, _LONGEST)


def op_of(row: Failure) -> str | None:
    """``caselab::soft_shrink``"""
    found = _OP.search(row.message) if rule_of(row) == "custom_op_missing_fake" else None
    if not found:
        return None
    return found[1] or f"{found[2]}::{found[3]}"


def _fullgraph_cause(row: Failure) -> str | None:
    return next((slug for slug, pattern in _FULLGRAPH_CAUSES if pattern.search(row.message)), None)


def _dim(source: str) -> str:
    """``L['x'].size()[0]`` -> ``x dim 0``"""
    found = re.fullmatch(r"L\['(\w+)'\]\.size\(\)\[(\d+)\]", source)
    return f"{found[1]} dim {found[2]}" if found else source
