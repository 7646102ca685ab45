"""The group of commands: each is a module of this package, loaded when it is called."""

from __future__ import annotations

import difflib
from importlib import import_module
from pathlib import Path

import click

from compilescope import __version__

COMMANDS = (
    "run",
    "summary",
    "advise",
    "verify",
    "report",
    "diff",
    "why-miss",
    "tui",
    "watch",
    "ladder",
    "check",
    "pack",
    "doctor",
    "completion",
)


class LazyGroup(click.Group):
    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"compilescope.cli.{cmd_name.replace('-', '_')}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS:
            raise click.UsageError(f"no command {args[0]!r}{_did_you_mean(args)}", ctx)
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args[:1] in (["-m"], ["-c"]):
            raise click.UsageError(f"did you mean: compilescope run {args[0]} ...", ctx)
        return super().parse_args(ctx, args)


def _did_you_mean(args: list[str]) -> str:
    word = args[0]
    if word.endswith(".py") or Path(word).is_file():
        return f"; did you mean: compilescope run {' '.join(args)}"
    close = difflib.get_close_matches(word, COMMANDS, n=1)
    return f"; did you mean: compilescope {close[0]}" if close else ""


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def group() -> None:
    """Find out why torch.compile does not help, what it costs, and what to change first.

    Start with `compilescope run SCRIPT`: it runs your program, records what torch.compile does, and prints
    what is wrong. The other commands read such a recording, on any machine, without torch.
    """
