"""Starts the user's program in our own process group and terminal, and waits until it has ended.

Signals have to be waited for meanwhile: we must outlive a Ctrl-C that the terminal sends to the whole group,
and hand on what was sent to us alone.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compilescope.launch.group import GroupWitness

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO

_FORWARDED = frozenset(
    {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
)
_AWAITED = _FORWARDED | {signal.SIGCHLD}
# Another thread of this process may take the SIGCHLD: look at least this often.
_POLL_S = 0.5


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended. ``exit_status`` is as the shell sees it: 128+n when signal n ended it."""

    exit_status: int
    signal: str | None = None


def run_to_end(
    python_args: Sequence[str], environ: Mapping[str, str], output: IO[bytes] | None = None
) -> Ended:
    """Run ``sys.executable`` with these arguments. Raises OSError when it cannot be started.

    With ``output`` all that it prints goes there, and it reads nothing: the terminal is not its own.
    """
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    witness = GroupWitness()
    try:
        # Every inherited file descriptor stays open for the program, as a shell would leave it. posix_spawn
        # would set the mask as well, but leaves two signals of libc ignored in the program.
        program = subprocess.Popen(
            [sys.executable, *python_args],
            env=environ,
            close_fds=False,
            stdin=None if output is None else subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, mask),  # noqa: PLW1509
        )
        return _ended(_wait(program, witness))
    finally:
        witness.close()
        while signal.sigtimedwait(_AWAITED, 0):
            pass  # meant for the program, which is gone
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _wait(program: subprocess.Popen[bytes], witness: GroupWitness) -> int:
    """The exit status, or -n when signal n ended it."""
    while (code := program.poll()) is None:
        received = signal.sigtimedwait(_AWAITED, _POLL_S)
        if received is None or received.si_signo == signal.SIGCHLD:
            continue
        if _went_to_the_group(received.si_signo, witness):
            continue
        if received.si_pid != program.pid:
            program.send_signal(received.si_signo)
    return code


def _went_to_the_group(number: int, witness: GroupWitness) -> bool:
    if not witness.saw(number):
        return False
    while signal.sigtimedwait({number}, 0):
        witness.saw(number)  # sent in quick succession: the program may have got them as one, too
    return True


def _ended(code: int) -> Ended:
    if code >= 0:
        return Ended(code)
    try:
        name = signal.Signals(-code).name
    except ValueError:  # real-time signals have no names of their own
        name = f"signal {-code}"
    return Ended(128 - code, name)
