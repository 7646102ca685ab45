"""The text of torch's graph break record, taken apart.

A generic sentence comes first; the type of break is the next paragraph, then explanation, hints, developer
context and the user's traceback, which for a skipped frame ends at the construct that could not be split.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from compilescope.model.clipped import clipped

_PLACE = re.compile(
    r"Graph break (?:\([^)]*\) )?in user code at (?P<file>.+?):(?P<line>\d+)\s*$", re.MULTILINE
)
_REASON = re.compile(r"Graph Break Reason: (?P<reason>[^\n]*)")
_GENERIC = ("Encountered graph break", "Failed to handle graph break")
_GB_ID = re.compile(r"/gb/(gb\d+)\.html", re.IGNORECASE)
_FRAME = re.compile(
    r'^  File "(?P<file>[^"\n]+)", line (?P<line>\d+), in (?P<function>[^\n]+)$', re.MULTILINE
)
_EXPLANATION = re.compile(r"^  Explanation: (?P<text>[^\n]*)", re.MULTILINE)
_HINT = re.compile(r"^  Hint: (?P<text>[^\n]*)", re.MULTILINE)
_SETTING = "torch._dynamo.config."
_CONTEXT = re.compile(r"^  Developer debug context: (?P<text>[^\n]*)", re.MULTILINE)
_STACK_LABEL = "User code traceback:"
_PYTHON_STACK = "\nTraceback (most recent call last)"
# An error report's own way to say the same.
_ERROR_STACKS = ("from user code:", "User stack:", "User Stack:")

Frames = tuple[tuple[str, int, str], ...]


@dataclass(frozen=True, slots=True)
class BreakText:
    file: str | None
    line: int
    outcome: str  # resumable | tail_skipped | frame_skipped
    gb_type: str
    gb_id: str | None
    explanation: str | None
    hint: str | None
    context: str | None
    stack: Frames  # the user's traceback, outermost first


@lru_cache(maxsize=1 << 10)  # torch says the same of a line each time that it breaks
def parse_break(text: str) -> BreakText:
    place, stack = _PLACE.search(text), user_stack(text)
    file, line = (place["file"], int(place["line"])) if place else (stack[-1][:2] if stack else (None, 0))
    reason = _REASON.search(text)
    gb_id = _GB_ID.search(text)
    return BreakText(
        file,
        line,
        _outcome(reason["reason"] if reason else text[:300]),
        _type(text, reason),
        gb_id.group(1).upper() if gb_id else None,
        _first(_EXPLANATION, text),
        _hint(text),
        _first(_CONTEXT, text),
        stack,
    )


def user_stack(text: str) -> Frames:
    """The frames under "User code traceback:", or under the labels of an error report."""
    for label in (_STACK_LABEL, *_ERROR_STACKS):
        start = text.find(label)
        if start >= 0:
            body = text[start + len(label) :].split(_PYTHON_STACK, 1)[0]
            # "from user code" indents its first line by one more.
            frames = _FRAME.findall(body.replace("\n   File ", "\n  File "))
            return tuple((file, int(line), function.strip()) for file, line, function in frames)
    return ()


def _outcome(reason: str) -> str:
    if "cannot resume from" in reason:
        return "tail_skipped"
    if "Skipping the function" in reason or "Skipping function" in reason:
        return "frame_skipped"
    return "resumable"


def _type(text: str, reason: re.Match[str] | None) -> str:
    """The first sentence that says what happened, past torch's sentence about how it was handled."""
    if reason is None:
        return clipped(text.strip().split("\n", 1)[0], 200)
    if not reason["reason"].startswith(_GENERIC):
        return reason["reason"].strip()
    for paragraph in text[reason.end() :].split("\n"):
        if paragraph.strip():
            return paragraph.strip()
    return reason["reason"].strip()


def _hint(text: str) -> str | None:
    """The hint that names a setting of torch, which a person can act on; else the first."""
    hints = [found["text"].strip() for found in _HINT.finditer(text)]
    return next((hint for hint in hints if _SETTING in hint), next(filter(None, hints), None))


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return match["text"].strip() or None if match else None
