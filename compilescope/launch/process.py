"""Starts the user's program in our own process group and terminal, and waits until it has ended.

Signals have to be waited for meanwhile: we must outlive a Ctrl-C that the terminal sends to the whole group,
and hand on what was sent to us alone. They are blocked and taken one by one, because only that way does the
kernel say who sent a signal; a handler would not know.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


def run_to_end(python_args: Sequence[str], environ: Mapping[str, str]) -> Ended:
    """Run ``sys.executable`` with these arguments. Raises OSError when it cannot be started."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    try:
        # posix_spawn leaves every inherited file descriptor to the program, as a shell would have.
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, *python_args],
            environ,
            setsigmask=mask,
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],  # ours ignores them, as every Python does
        )
        return _ended(_wait(pid))
    finally:
        while signal.sigtimedwait(_AWAITED, 0):
            pass  # meant for the program, which is gone
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _wait(pid: int) -> int:
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        received = signal.sigtimedwait(_AWAITED, _POLL_S)
        if received is not None and _is_for_the_program(received, pid):
            os.kill(pid, received.si_signo)


def _is_for_the_program(received: signal.struct_siginfo, pid: int) -> bool:
    """Sent to us by some process. The kernel's own (Ctrl-C) went to the whole group: it has them."""
    return received.si_signo in _FORWARDED and received.si_code <= 0 and received.si_pid != pid


def _ended(status: int) -> Ended:
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return Ended(code)
    try:
        name = signal.Signals(-code).name
    except ValueError:  # real-time signals have no names of their own
        name = f"signal {-code}"
    return Ended(128 - code, name)
