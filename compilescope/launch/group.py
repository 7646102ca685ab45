"""Tells a signal that was sent to our whole process group from one that was sent to us alone.

The kernel does not say. It matters, because the program is in our group: it has the first kind already, and a
second KeyboardInterrupt would break the cleanup after the first.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

# The kernel walks the group while we wake up already: let it come to the witness.
_WALK_S = 0.002


class GroupWitness:
    """A process of our group that sleeps with signals blocked: what is pending there went to everyone.

    To be made with those signals blocked, which the witness inherits. It ends when we do, however we end:
    it waits for the end of a pipe that we alone hold open.
    """

    def __init__(self) -> None:
        self._seen = 0  # as the kernel writes a set of signals: bit n-1 for signal n
        self._start()

    def _start(self) -> None:
        reader, self._held = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._held)
            os.read(reader, 1)
            os._exit(0)
        os.close(reader)

    def saw(self, number: int) -> bool:
        """Whether the signal went to the group since this was last asked and true."""
        time.sleep(_WALK_S)
        self._seen |= self._pending()
        bit = 1 << (number - 1)
        if not self._seen & bit:
            return False
        # What is pending stays pending: only a new witness can tell about the next one.
        self._seen &= ~bit
        self.close()
        self._start()
        return True

    def _pending(self) -> int:
        try:
            status = Path(f"/proc/{self._pid}/status").read_text()
        except OSError:
            return 0  # killed: then better forward too much than too little
        return next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("ShdPnd:"))

    def close(self) -> None:
        os.close(self._held)
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
