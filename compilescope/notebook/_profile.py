"""The in-process front door: a context manager and a decorator around some of a program's code."""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from compilescope.errors import CompileScopeError, UsageError
from compilescope.launch import runfile
from compilescope.launch.folder import default_folder, make_room
from compilescope.launch.git import GitQuestion
from compilescope.launch.target import Target
from compilescope.notebook._shell import cell_names, notebook_name, running_shell

if TYPE_CHECKING:
    from compilescope.analysis.report import Report
    from compilescope.notebook._read import Read

P = ParamSpec("P")
T = TypeVar("T")


class profile:  # noqa: N801  used like contextlib's and torch's own profile
    """Record what torch.compile does in this process while a block or a function runs.

    ``path`` names the recording (a folder); left out, it is ``compilescope-NAME.PID.compilescope`` in the
    working directory. An existing recording is replaced only with ``force=True``. Code compiled before the
    block counts too: its calls and recompiles are seen, what compiling it cost is not. One recording at a
    time: entering a second one raises UsageError. An exception in the block passes through unchanged.

    After the block ``print(p)`` shows the summary, ``p.report`` is the report object, ``p.path`` the folder.
    In a notebook ``p`` shows itself below its cell, and ``p.show()`` the full report.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, force: bool = False) -> None:
        self._wanted = None if path is None else Path(path)
        self._force = force
        self._folder: Path | None = None
        self._facts: dict[str, Any] = {}
        self._read: Read | None = None
        self._ended = "still running"

    def __enter__(self) -> Self:
        from compilescope import capture

        if capture.is_attached():
            raise UsageError("this process is being recorded already", hint="leave the other profile first")
        target = _this_program()
        folder = self._wanted or default_folder(target.stem, os.getpid(), Path.cwd())
        make_room(folder, force=self._force)
        self._folder = folder.absolute()
        self._read = None
        self._facts = runfile.at_start(target, os.environ, ["recorded from within, by compilescope.profile"])
        self._note(self._facts)
        self._git = GitQuestion(Path.cwd())
        capture.attach(self._folder, even_idle=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from compilescope import capture, steps

        steps.flush()
        capture.detach()
        raised = [f"the block raised {kind.__name__}"] if kind is not None else []
        self._ended = "ended" if kind is None else f"raised {kind.__name__}"
        ended = {
            "ended_ns": time.time_ns(),
            "git": self._git.answer(),
            "notes": self._facts["notes"] + raised,
        }
        self._note(self._facts | ended)

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        """As a decorator: each call of ``function`` is a recording; the second one needs ``force``."""

        @functools.wraps(function)
        def recorded(*args: P.args, **kwargs: P.kwargs) -> T:
            with profile(self._wanted, force=self._force):
                return function(*args, **kwargs)

        return recorded

    @property
    def path(self) -> Path:
        """The recording's folder. Raises UsageError before the block was entered."""
        if self._folder is None:
            raise UsageError("nothing recorded yet", hint="enter the block first")
        return self._folder

    @property
    def report(self) -> Report:
        """What ``compilescope summary`` shows, as an object. Read from the recording once."""
        return self._contents().report

    def page(self) -> str:
        """The full report as one HTML document."""
        from compilescope.views import html

        contents = self._contents()
        return html.render(contents.report, sources=contents.sources, documents=contents.documents)

    def show(self, height_px: int = 720) -> None:
        """The full report below the cell. Adds its size to the notebook: half a megabyte and more."""
        from IPython.display import display

        from compilescope.notebook._frame import Frame

        display(Frame(self.page(), height_px))

    def _contents(self) -> Read:
        from compilescope.notebook._read import read

        if self._read is None:
            self._read = read(self.path, cell_names(running_shell()), self._ended)
        return self._read

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """What a notebook shows: plain HTML of at most 30 kB, and the summary as text."""
        from compilescope.notebook._card import card

        bundle = {"text/plain": str(self)}
        try:
            bundle["text/html"] = card(self.report, self.path.name)
        except CompileScopeError:
            pass  # the text says it
        return bundle

    def __str__(self) -> str:
        from compilescope.views import text

        try:
            return text.render(self.report)
        except CompileScopeError as problem:
            return f"compilescope.profile: {problem}"

    def _note(self, facts: dict[str, Any]) -> None:
        """``run.json``. A folder that cannot be written costs the recording, not the program."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            runfile.write(self.path, facts)
        except OSError as problem:
            print(f"compilescope: cannot write {self.path}: {problem.strerror}", file=sys.stderr)


def _this_program() -> Target:
    """The program around the block, as its user would call it."""
    shell = running_shell()
    if shell is not None and "ipykernel" in sys.modules:
        return Target("module", notebook_name(shell))
    name = sys.argv[0] if sys.argv and sys.argv[0] not in ("", "-c") else "-c"
    if name == "-c" or not Path(name).is_file():
        return Target("module", "python", ())
    return Target("script", name, tuple(sys.argv[1:]))
