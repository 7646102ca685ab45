"""What a stream can show: color, width, characters. Data goes to stdout, talk to stderr."""

from __future__ import annotations

import codecs
import os
import shutil
import sys
from typing import Literal, TextIO

ColorChoice = Literal["auto", "always", "never"]
WIDTH = 80
_NARROWEST = 40


class ReaderGoneError(Exception):
    """Who read our output has enough, as in ``| head``. Not an OSError: click would end with status 1."""


def use_color(choice: ColorChoice, stream: TextIO) -> bool:
    """``--color`` wins; then NO_COLOR, FORCE_COLOR and TERM=dumb; then whether a person is looking."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def default_width() -> int:
    """80 columns, fewer where the terminal has fewer: what is read once should look the same everywhere."""
    return max(_NARROWEST, min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns))


def write(text: str, stream: TextIO | None = None) -> None:
    r"""All of the text; what the stream cannot encode is written as ``\xff`` or ``\udcff``."""
    stream = stream or sys.stdout
    encoding = "utf-8" if is_utf8(stream) else "ascii"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError as problem:
        raise ReaderGoneError from problem


def say(message: str) -> None:
    """One message of ours on stderr; silent where stderr is closed. Names in it may hold anything."""
    shown = "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in message)
    try:
        write(f"compilescope: {shown}\n", sys.stderr)
    except (OSError, ValueError, AttributeError, ReaderGoneError):
        pass


def is_utf8(stream: TextIO) -> bool:
    try:
        return codecs.lookup(stream.encoding).name == "utf-8"
    except (LookupError, TypeError):
        return False
