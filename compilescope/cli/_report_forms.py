"""A report in the form that was asked for, and the summary of a GitHub job."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from compilescope.cli._terminal import say
from compilescope.errors import UsageError

if TYPE_CHECKING:
    from compilescope.analysis.report import Report
    from compilescope.cli._recordings import Loaded

Form = Literal["html", "markdown", "github", "sarif", "perfetto"]


def drawn(loaded: Loaded, form: Form) -> str:
    report = loaded.report
    if form == "html":
        from compilescope.views import html

        return html.render(report, sources=loaded.sources, documents=loaded.documents)
    if form == "markdown":
        from compilescope.views.markdown import report as markdown

        return markdown.render(report)
    if form == "github":
        from compilescope.views.markdown import github

        return github.render(report)
    from compilescope import __version__
    from compilescope.views import sarif

    return sarif.render(report, version=__version__)


def redacted(loaded: Loaded) -> Loaded:
    """Without a word of the program: its texts are left out altogether."""
    from compilescope.analysis.redact import redact

    return loaded._replace(report=redact(loaded.report), sources={}, documents=[])


def append_job_summary(report: Report, *, asked: bool) -> None:
    """Appended, as GitHub wants it: other steps of the job may have written there. Raises UsageError."""
    from compilescope.views.markdown import report as markdown

    name = os.environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        if asked:
            raise UsageError("--job-summary needs GITHUB_STEP_SUMMARY", hint="GitHub Actions sets it")
        return
    try:
        with Path(name).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(markdown.render(report))
    except OSError as problem:
        say(f"no job summary: cannot write {name}: {problem.strerror or problem}")
