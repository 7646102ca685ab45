"""Puts the page together: sections, ids, scripts and the policy that forbids everything else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup

from compilescope import units
from compilescope.views.finding_words import fact_words
from compilescope.views.html import _assets, _charts, _format, _groups, _icicle, _ladder
from compilescope.views.html._code import Document
from compilescope.views.html._sections import detailed, graph_ids, ref_ids, sections
from compilescope.views.html._texts import MAX_STRAYS, arrange

if TYPE_CHECKING:
    from compilescope.analysis.report import Report

MAX_ROWS = 2000
MAX_BYTES = 5_000_000
CODE_BYTES = 2_000_000
_BUNDLE = "vendor/plotly-basic.min.js"
_SCRIPTS = ("static/unpack.js", "static/code.js", "static/flow.js", "static/page.js")
_CHART_SCRIPTS = ("static/charts.js",)
_NESTED_ROWS = 2000
MAX_DETAILED = 120


def render(
    report: Report,
    *,
    sources: Mapping[str, str] | None = None,
    documents: Iterable[Document] = (),
) -> str:
    """The report as one HTML document: equal reports give equal bytes.

    ``sources`` maps file names as the report writes them to their text; lines around each finding are shown
    from it. ``documents`` are graphs, guards and generated code: they and the sources go into the page
    compressed, up to 2 MB, to be unpacked when asked for. At most 2,000 rows are shown, fewer if the page
    would pass 5 MB; the page says what it left out.
    """
    page, every = "", list(documents)
    for max_rows in (MAX_ROWS, 500, 100, 20):
        page = _page(report, sources or {}, every, max_rows)
        if len(page.encode("utf-8")) <= MAX_BYTES:
            break
    return page


def _page(
    report: Report,
    sources: Mapping[str, str],
    documents: Sequence[Document],
    max_rows: int,
) -> str:
    rows = sections(report, max_rows)
    texts = arrange(rows["graphs"].shown, documents, sources)
    packed = texts.pack(CODE_BYTES)
    phase_table = _groups.phase_table(report.phases, rows["phases"].shown)
    chart = _charts.frames_figure(report.frames)
    first = _assets.script("static/theme.js")
    last = [_assets.script(name) for name in (*_SCRIPTS, *(_CHART_SCRIPTS if chart else ()))]
    allowed = [first, *last, *([_assets.script(_BUNDLE)] if chart else ())]
    context = {
        "report": report,
        "recording": report.recording,
        "totals": report.totals,
        "rows": rows,
        "graph_ids": graph_ids(rows["graphs"]),
        "ref_ids": ref_ids(rows),
        "ladders": _groups.ladders(rows["buckets"].shown),
        "phase_table": phase_table,
        "icicle": _icicle.icicle(report.phases, phase_table.names),
        "detailed": detailed(rows["graphs"].shown, MAX_DETAILED),
        "max_detailed": MAX_DETAILED,
        "planned": _ladder.planned(report.ladders),
        "max_ladders": _ladder.MAX_LADDERS,
        "texts": texts,
        "packed": packed,
        "files": texts.file_rows(),
        "max_strays": MAX_STRAYS,
        "chart": chart,
        "bundle": _assets.deflated(_BUNDLE) if chart else None,
        "max_chart_rows": _charts.MAX_ROWS,
        "max_nested": min(max(_NESTED_ROWS // max(min(len(rows["graphs"].shown), MAX_DETAILED), 1), 8), 100),
        "sources": sources,
        "style": _assets.style(),
        "first_script": first.text,
        "last_scripts": [script.text for script in last],
        "policy": _policy([script.csp_source for script in allowed]),
    }
    return _environment().get_template("report.html.j2").render(context)


def _policy(script_sources: list[str]) -> str:
    """Nothing may be fetched, sent or run, but for the scripts whose bytes are listed."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(script_sources)}",
            "style-src 'unsafe-inline'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _bytecode_cache() -> jinja2.BytecodeCache | None:
    """Compiling the templates takes as long as filling them in for a large recording: once is enough.

    A folder of the user's alone below the system's temporary one; without such a place, none.
    """
    try:
        return jinja2.FileSystemBytecodeCache()
    except (OSError, RuntimeError):
        return None


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_assets.folder() / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_format.finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=_bytecode_cache(),
    )
    environment.filters.update(
        seconds=units.seconds,
        microseconds=units.microseconds,
        size=units.size,
        moment=units.moment,
        block=_format.block,
        chain=_format.chain,
        value=_format.value,
        words=_format.words,
        outcomes=_format.outcomes,
        oneline=_format.oneline,
        share=_format.share,
        split_path=_format.split_path,
        shape=_format.shape,
        box_title=_icicle.title,
        cost=_ladder.cost,
        share_percent=_ladder.percent,
        plain=_format.plain,
        whole=_format.whole,
        trusted=Markup,
        known_sum=_format.known_sum,
        fact=fact_words,
    )
    environment.globals.update(
        count=units.count,
        percent=units.percent,
        snippet=_format.snippet,
        standing=_groups.standing,
        resume_words=_format.RESUME,
        status_levels=_format.STATUS_LEVEL,
        severity_levels=_format.SEVERITY_LEVEL,
    )
    return environment
