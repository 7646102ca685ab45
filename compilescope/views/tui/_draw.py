"""Facts as styled text. Always ``Content`` made of plain strings: markup in a recording stays text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content
from textual.style import Style

from compilescope.units import visible
from compilescope.views.tui._words import fit, one_line, wrap

if TYPE_CHECKING:
    from compilescope.analysis.report import Report
    from compilescope.views.tui._card import Card
    from compilescope.views.tui._keys import Key
    from compilescope.views.tui._pages import Page

LABEL = "$foreground 60%"
STRONG = "bold"
CODE = "$text-accent"
Context = Sequence[tuple[int, str]]  # (line number, text) around the line that a card is about
_NEWLINE = Content("\n")


def card(facts: Card, context: Context = (), width: int = 80) -> Content:
    """Everything about one row; ``context`` in place of the single line where the source is at hand."""
    lines = [Content.styled(line, STRONG) for line in wrap(one_line(facts.title), width, 4)]
    lines += _source(facts, context, width)
    told = [*facts.told(), *(("note", note) for note in facts.notes if note)]
    column = max((len(label) for label, _ in told), default=0) + 2
    for label, text in told:
        lines += hanging(label, text, column, width)
    for label, items in facts.groups():
        lines += [Content(""), Content.styled(visible(label), LABEL)]
        for item in items:
            lines += hanging("", item, 2, width)
    return _NEWLINE.join(lines)


def hanging(label: str, text: str, column: int, width: int, longest: int = 60) -> list[Content]:
    """``text`` wrapped beside its label, at most ``longest`` lines of it."""
    rows = wrap(one_line(text), width - column, longest)
    first = Content.assemble(Content.styled(visible(label).ljust(column), LABEL), rows[0])
    return [first, *(Content(" " * column + row) for row in rows[1:])]


def _source(facts: Card, context: Context, width: int) -> list[Content]:
    if not context:
        code = one_line((facts.code or "").strip())
        return [Content.styled("  " + code, CODE)] if code else []
    column = len(str(context[-1][0]))
    return [
        Content.styled(
            fit(
                f"{'>' if number == facts.line else ' '} {number:>{column}}  {visible(text[:500])}", width - 2
            ).rstrip(),
            CODE if number == facts.line else LABEL,
        )
        for number, text in context
    ]


def navigation(pages: Sequence[Page], current: str, report: Report | None, width: int) -> Content:
    """One line: the key and name of every one of these screens, with counts where there is room."""
    forms = [_full, _label, _short, _digit]
    for form in forms:
        parts = [form(page, report) for page in pages]
        if sum(map(cell_len, parts)) + 2 * len(parts) <= width or form is _digit:
            break
    if form is _digit:  # a key alone does not say where one is
        named = [_label(page, report) if page.name == current else _digit(page, report) for page in pages]
        parts = named if sum(map(cell_len, named)) + 2 * len(named) <= width else parts
    return Content("").join(
        Content.assemble((f" {part} ", _tab(page.name, page.name == current)))
        for part, page in zip(parts, pages, strict=True)
    )


def _tab(name: str, current: bool) -> Style:
    return Style(bold=current, reverse=current) + Style.from_meta({"@click": f"app.show('{name}')"})


def _full(page: Page, report: Report | None) -> str:
    count = page.count(report) if page.count and report else 0
    return f"{page.key} {page.label} {count:,}" if count else f"{page.key} {page.label}"


def _label(page: Page, _report: Report | None) -> str:
    return f"{page.key} {page.label}"


def _short(page: Page, _report: Report | None) -> str:
    return f"{page.key} {page.short}"


def _digit(page: Page, _report: Report | None) -> str:
    return page.key


def key_bar(keys: Sequence[Key], width: int) -> Content:
    """At most eight keys, as many as fit; the last two, help and quit, always do."""
    shown = [key for key in keys if key.bar][:8]
    while len(shown) > 2 and sum(len(key.shown) + len(key.bar) + 3 for key in shown) > width:
        del shown[-3]
    parts = [((f" {key.shown}", STRONG), (f" {key.bar} ", LABEL)) for key in shown]
    return Content.assemble(*(part for pair in parts for part in pair))


def ends(left: str, right: str, width: int) -> Content:
    """``left`` at the left edge and ``right`` at the right one; the right one keeps its room."""
    right = fit(right, min(cell_len(right), width))
    return Content.assemble(
        Content.styled(fit(left, width - cell_len(right)), LABEL), Content.styled(right, STRONG)
    )


def nearest(context: Context, line: int | None, distance: int) -> Context:
    """The part of the context that is at most ``distance`` lines away."""
    return [(number, text) for number, text in context if abs(number - (line or 0)) <= distance]


def around(source: str | None, line: int | None, distance: int = 3) -> Context:
    """The lines around ``line``, nothing when there is no such line."""
    lines = (source or "").splitlines()
    if line is None or not 1 <= line <= len(lines):
        return ()
    first, last = max(line - distance, 1), min(line + distance, len(lines))
    return [(number, lines[number - 1]) for number in range(first, last + 1)]


def plain(text: str) -> Content:
    """Recorded text over several lines, without control characters or markup."""
    return Content(visible(text, keep="\n"))
