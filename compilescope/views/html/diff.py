"""A diff as one page, BASE on the left and HEAD on the right; it has no script at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from compilescope import units
from compilescope.views import diff_words
from compilescope.views.html import _assets, _format

if TYPE_CHECKING:
    from compilescope.compare.diff import Diff

MAX_ROWS = 500
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_LEVELS = {"same": "good", "better": "good", "worse": "bad", "mixed": "warn", "other": "plain"}


@dataclass(frozen=True, slots=True)
class SideBySide:
    """A section: rows of (where, what, in BASE, in HEAD), the first :data:`MAX_ROWS` of them."""

    id: str
    title: str
    rows: Sequence[tuple[str, str, str, str]]
    total: int


def render(diff: Diff) -> str:
    """One HTML document that fetches and runs nothing: equal diffs give equal bytes."""
    changed = [key for key in diff.cache_keys if key.status == "changed"]
    context = {
        "diff": diff,
        "policy": _POLICY,
        "style": _assets.style(),
        "level": _LEVELS[diff.direction],
        "sides": [("BASE", diff.base), ("HEAD", diff.head)],
        "counts": [row for row in diff.counts if row.differs],
        "sections": [section for section in _sections(diff) if section.total],
        "keys": changed[:MAX_ROWS],
        "keys_total": len(changed),
        "most": MAX_ROWS,
    }
    return _environment().get_template("diff.html.j2").render(context)


def _sections(diff: Diff) -> list[SideBySide]:
    place = diff_words.place_words
    functions = [(place(f.place), f.change, _shape(f.base), _shape(f.head)) for f in diff.functions]
    kernels = [
        (
            place(k.place),
            diff_words.kernel_name(k),
            _launched(k.base, k.base_launches),
            _launched(k.head, k.head_launches),
        )
        for k in diff.kernels
    ]
    choices = [
        (
            place(c.place),
            diff_words.tuned_name(c),
            diff_words.candidate(c.base, c.base_ms),
            diff_words.candidate(c.head, c.head_ms),
        )
        for c in diff.choices
    ]
    sizes = [
        (
            place(s.place),
            s.name,
            diff_words.range_words(s.base),
            diff_words.range_words(s.head),
        )
        for s in diff.sizes
    ]
    buckets = [
        (
            place(b.place),
            f"rung {b.rung}",
            diff_words.bucket_side(b.base, b.base_hits),
            diff_words.bucket_side(b.head, b.head_hits),
        )
        for b in diff.buckets
    ]
    return [
        SideBySide(id_, title, rows[:MAX_ROWS], len(rows))
        for id_, title, rows in (
            ("functions", "Graphs split, merged, new or gone", functions),
            ("kernels", "Kernels", kernels),
            ("choices", "Autotuned choices", choices),
            ("sizes", "Sizes that moved", sizes),
            ("buckets", "Buckets", buckets),
        )
    ]


def _shape(shape: Any) -> str:
    return "not compiled" if shape is None else diff_words.shape_words(shape)


def _launched(kind: str | None, launches: int) -> str:
    return "none" if kind is None else f"{kind}, {units.count(launches, 'launch', 'launches')}"


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
    )
    environment.filters.update(seconds=units.seconds, moment=units.moment, trusted=Markup)
    environment.globals.update(words=diff_words, severity_levels=_format.SEVERITY_LEVEL)
    return environment
