"""Findings as text for a terminal: a list, or one in full. The words are those of every view."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compilescope.units import visible

if TYPE_CHECKING:
    from compilescope.advice import Finding
    from compilescope.views.finding_words import FindingWords

_LABEL = 9


def findings_text(findings: Sequence[Finding], *, width: int) -> str:
    """Every finding in a few lines, worst first."""
    rows = [row for number, f in enumerate(findings, 1) for row in [*_short(number, _words(f), width), ""]]
    return "\n".join([*rows, "One in full: compilescope advise RECORDING NUMBER"]) + "\n"


def finding_text(number: int, finding: Finding, *, width: int) -> str:
    """One finding with its evidence, what could make it wrong, and the change."""
    words = _words(finding)
    fields = [
        ("saves", [words.saving or ""]),
        ("changed", words.changes),
        ("at", words.sites),
        ("from", [words.called_from or ""]),
        ("note", words.notes),
        ("compiles", [", ".join(words.compile_ids)]),
        ("unless", [words.could_be_wrong or ""]),
        ("sure", [words.confidence or ""]),
        ("rule", [f"{words.rule} ({words.fix_kind})"]),
    ]
    rows = [*_short(number, words, width)]
    rows += [row for label, texts in fields for text in texts for row in _field(label, text, width)]
    if words.diff:
        rows += ["", *(visible(line) for line in words.diff.splitlines())]
    return "\n".join(rows) + "\n"


def _words(finding: Finding) -> FindingWords:
    from compilescope.advice import findings_json
    from compilescope.views.finding_words import finding_words

    return finding_words(findings_json([finding])[0])


def _short(number: int, words: FindingWords, width: int) -> Iterator[str]:
    yield f"{number} [{words.severity}] {visible(words.place)}"
    yield from textwrap.wrap(visible(words.title), width, initial_indent="  ", subsequent_indent="  ")
    yield from _field("cost", words.cost, width)
    yield from _field("fix", words.fix or "", width)
    if words.command:  # whole, however long: a terminal that folds it still copies one line
        yield f"  {words.command}"
    yield from _field("tried", words.verified or "", width)


def _field(label: str, text: str, width: int) -> Iterator[str]:
    if not text:
        return
    indent = " " * (_LABEL + 2)
    first = f"  {label}".ljust(_LABEL + 2)
    yield from textwrap.wrap(
        visible(text), width, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False
    )
