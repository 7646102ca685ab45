"""``compilescope completion``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from compilescope.cli._terminal import write

if TYPE_CHECKING:
    from click.shell_completion import ShellComplete

_VARIABLE = "_COMPILESCOPE_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash:  eval "$(compilescope completion bash)"   in ~/.bashrc
    zsh:   eval "$(compilescope completion zsh)"    in ~/.zshrc
    fish:  compilescope completion fish | source    in config.fish
    """
    from click.shell_completion import get_completion_class

    kind: type[ShellComplete] | None = get_completion_class(shell)
    assert kind is not None
    write(kind(click.Command("compilescope"), {}, "compilescope", _VARIABLE).source() + "\n")
