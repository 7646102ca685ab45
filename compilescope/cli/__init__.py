"""The command line. Importing this package loads nothing: ``compilescope --help`` is to feel instant."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """The ``compilescope`` command: parses ``sys.argv`` and exits."""
    from compilescope.cli._entry import run_command_line

    run_command_line()
