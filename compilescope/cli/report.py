"""``compilescope report``."""

from __future__ import annotations

import gzip
import webbrowser
from pathlib import Path
from typing import cast

import click

from compilescope.cli._output import STDOUT, write_new
from compilescope.cli._recordings import load_with_texts, recording_argument
from compilescope.cli._report_forms import Form, append_job_summary, drawn, redacted
from compilescope.cli._terminal import say, write
from compilescope.errors import UsageError

_SUFFIXES = {".md": "markdown", ".sarif": "sarif", ".html": "html", ".htm": "html"}
_NO_FORM = frozenset((".json", ".txt", ".gz"))
_FILES = {"html": "compilescope-report-{}.html", "perfetto": "compilescope-trace-{}.json"}


@click.command()
@recording_argument
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "markdown", "github", "sarif", "perfetto"]),
    help="[default: by the suffix of FILE, else html]",
)
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="`-` is standard output."
)
@click.option("-f", "--force", is_flag=True, help="Replace an existing file.")
@click.option("--redact", is_flag=True, help="Placeholders for paths, arguments, source and strings.")
@click.option("--open", "show", is_flag=True, help="Show it in the browser.")
@click.option(
    "--job-summary", "summarize", is_flag=True, help="Also append Markdown to $GITHUB_STEP_SUMMARY."
)
@click.option(
    "--merge",
    "trace",
    metavar="TRACE",
    type=click.Path(path_type=Path),
    help="With perfetto: put the events into this trace of torch.profiler.",
)
def command(
    recording: Path,
    form: Form | None,
    output: Path | None,
    force: bool,
    redact: bool,
    show: bool,
    summarize: bool,
    trace: Path | None,
) -> None:
    """Write all facts as a web page, or for a pull request.

    RECORDING is the newest one of the working directory when left out. The page is one file, readable
    offline: compilescope-report-NAME.html in the working directory unless -o names another. Other formats:
    `markdown` for a comment, at most 60,000 characters; `github` for annotations beside the lines, and a job
    summary where GITHUB_STEP_SUMMARY is set; `sarif` for code scanning; `perfetto` for a trace viewer. They
    go to standard output, a trace to compilescope-trace-NAME.json.
    """
    chosen = form or _form_of(output)
    to_file = output != STDOUT and (output is not None or chosen in _FILES)
    if show and not (to_file and chosen == "html"):
        raise UsageError("--open needs a page in a file", hint="leave out -o - and --format")
    if trace is not None and chosen != "perfetto":
        raise UsageError("--merge goes with --format perfetto")
    if redact and chosen == "perfetto":
        raise UsageError("--redact is for reports, and a trace is none", hint="leave out --format perfetto")
    if chosen == "perfetto":
        from compilescope.cli._timeline import trace_text

        text = trace_text(recording, trace)
    else:
        from compilescope.recording.process import gc_paused

        with gc_paused():
            loaded = load_with_texts(recording)
            loaded = redacted(loaded) if redact else loaded
            if summarize or chosen == "github":
                append_job_summary(loaded.report, asked=summarize)
            text = drawn(loaded, chosen)
    if not to_file:
        write(text)
        return
    path = output or Path(_FILES[chosen].format(report_stem(recording)))
    write_new(path, lambda file: _save(file, text, packed=path.suffix == ".gz"), force=force)
    say(f"wrote {path}")
    if show:
        webbrowser.open(path.resolve().as_uri())


def _form_of(output: Path | None) -> Form:
    suffix = output.suffix.lower() if output else ""
    if suffix in _NO_FORM:
        hint = "--format perfetto for a trace; compilescope summary --format json for the facts"
        raise UsageError(f"a report has no form for {suffix}", hint=hint)
    return cast(Form, _SUFFIXES.get(suffix, "html"))


def report_stem(recording: Path) -> str:
    """compilescope-train.4242.compilescope.zip -> train.4242"""
    name = recording.resolve().name.removesuffix(".zip").removesuffix(".compilescope")
    return name.removeprefix("compilescope-") or "recording"


def _save(file: Path, text: str, *, packed: bool) -> None:
    data = text.encode("utf-8", errors="backslashreplace")
    file.write_bytes(gzip.compress(data, mtime=0) if packed else data)
