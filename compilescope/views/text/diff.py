"""A diff for the terminal: the verdict, then what is new, gone and changed, each in a few lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compilescope.units import count, seconds
from compilescope.views import diff_words as words
from compilescope.views.text._columns import table
from compilescope.views.text._page import RESET, STYLES, Line, Page

if TYPE_CHECKING:
    from compilescope.compare.diff import Diff, FindingRow, KeyRow, Side

_MOST = 20  # rows of a section; JSON has all
_MOST_CHANGES = 6
_EVERYTHING = "compilescope diff BASE HEAD --format json"


def render(diff: Diff, *, width: int = 80, color: bool = False, ascii: bool = False) -> str:
    """As many lines as it takes, at most ``width`` columns each (60 at least), ended by a newline.

    ``color`` never carries meaning alone; ``ascii`` keeps to ASCII.
    """
    page = Page(max(width, 60), ascii)
    lines = [*_head(diff, page), *_findings(diff, page), *_counts(diff, page), *_rest(diff, page)]
    return "".join(_paint(line, color) + "\n" for line in lines)


def _head(diff: Diff, page: Page) -> Iterator[Line]:
    for number, sentence in enumerate(diff.verdict):
        style = "warn" if number == 0 and diff.environment else "strong"
        yield from (Line(row, style) for row in page.wrap(page.clean(sentence), page.width, 4))
    for label, side in (("BASE", diff.base), ("HEAD", diff.head)):
        yield Line(_side(label, side, page))
    for condition in diff.conditions:
        yield from (Line(row, "warn") for row in page.hanging("note", condition, 6, 3))


def _side(label: str, side: Side, page: Page) -> str:
    git = f" at {side.git_revision[:10]}{'+' if side.git_dirty else ''}" if side.git_revision else ""
    text = page.clean(f"{words.side_name(side)}{git}, {side.path}")
    return label.ljust(6) + page.middle(text, page.width - 6)


def _findings(diff: Diff, page: Page) -> Iterator[Line]:
    found = diff.findings
    for title, mark, rows in (("NEW FINDINGS", "+", found.new), ("FINDINGS GONE", "-", found.gone)):
        if rows:
            yield from _title(f"{title} ({len(rows)})")
            for row in rows[:_MOST]:
                yield from _finding(mark, row, page, fix=mark == "+")
            yield from _more(len(rows), page)
    if found.changed:
        yield from _title(f"FINDINGS CHANGED ({len(found.changed)})")
        for change in found.changed[:_MOST]:
            mark = {True: "!", False: "~", None: "~"}[change.worse]
            yield from _finding(mark, change.head, page, fix=change.worse is True)
            yield from map(Line, page.hanging("", words.finding_change_words(change), 4, 3))
        yield from _more(len(found.changed), page)


def _finding(mark: str, row: FindingRow, page: Page, *, fix: bool) -> Iterator[Line]:
    place = f"{row.file}:{row.line}" if row.file and row.line else row.file or row.function or "?"
    yield Line(page.middle(page.clean(f"  {mark} [{row.severity}] {place}"), page.width))
    yield from map(Line, page.hanging("", row.summary, 4, 3))
    if fix and row.fix:
        yield from map(Line, page.hanging("    fix:", row.fix, 9, 3))


def _counts(diff: Diff, page: Page) -> Iterator[Line]:
    rows = [
        (words.count_name(r.name), words.number(r.base), words.number(r.head), words.change(r))
        for r in diff.counts
        if r.differs
    ]
    rows += [
        (words.time_name(t.name), seconds(t.base_s), seconds(t.head_s), words.factor(t.base_s, t.head_s))
        for t in diff.times
    ]
    yield from _title("COUNTS THAT DIFFER, AND TIMES")
    yield from map(Line, table(page, ("", ">BASE", ">HEAD", ">change"), rows))
    if not any(t.differs for t in diff.times):
        yield Line("  times: no difference beyond what varies from run to run", "faint")


def _rest(diff: Diff, page: Page) -> Iterator[Line]:
    chosen = sorted(diff.choices, key=lambda row: row.draw)
    sections: list[tuple[str, Sequence[tuple[str, str]]]] = [
        (
            "GRAPHS SPLIT, MERGED, NEW, GONE",
            [(words.place_words(f.place), words.function_words(f)) for f in diff.functions],
        ),
        ("KERNELS", [(words.place_words(k.place), words.kernel_words(k)) for k in diff.kernels]),
        ("AUTOTUNED CHOICES", [(words.place_words(c.place), words.choice_words(c)) for c in chosen]),
        ("SIZES THAT MOVED", [(words.place_words(s.place), words.sizes_words(s)) for s in diff.sizes]),
        ("BUCKETS", [(words.place_words(b.place), words.bucket_words(b)) for b in diff.buckets]),
    ]
    for title, rows in sections:
        if rows:
            yield from _title(f"{title} ({len(rows)})")
            yield from _placed(rows[:_MOST], page)
            yield from _more(len(rows), page)
    changed = [row for row in diff.cache_keys if row.status == "changed"]
    if changed:
        yield from _title(f"CACHE KEYS THAT CHANGED ({len(changed)})")
        for key in changed[:_MOST]:
            yield Line(page.middle(page.clean(f"  {words.key_head(key)}"), page.width))
            yield from map(Line, page.hanging("", words.key_changes(key), 4, 2))
        yield from _more(len(changed), page)
        yield Line("  old and new values: compilescope why-miss BASE HEAD", "faint")
    unknown = words.not_compared(diff)
    if unknown:
        facts = "; ".join(f"{fact} ({reason})" for fact, reason in unknown)
        yield from _title("NOT KNOWN IN ONE OF THEM")
        yield from map(Line, page.hanging("", facts, 2, 6))


def _placed(rows: Sequence[tuple[str, str]], page: Page) -> Iterator[Line]:
    """The place once, and below it what changed there."""
    before = None
    for place, text in rows:
        if place != before:
            yield Line(page.middle(page.clean(f"  {place}"), page.width))
        yield from map(Line, page.hanging("", text, 4, 3))
        before = place


def _key(row: KeyRow, page: Page) -> Iterator[Line]:
    yield from _keys([row], page)


def _keys(rows: Sequence[KeyRow], page: Page) -> Iterator[Line]:
    """Look-ups of which the same is to be said: what it is stands once, below them."""
    row = rows[-1]
    for one in rows[:_MOST]:
        yield Line(page.middle(page.clean(f"  {words.key_head(one)}"), page.width))
    if len(rows) > _MOST:
        yield Line(f"  and {len(rows) - _MOST} more")
    if row.reason:
        yield from map(Line, page.hanging("", row.reason, 4, 2))
    for change in row.changes[:_MOST_CHANGES]:
        yield Line(page.clip(page.clean(f"    {change.path} ({change.change})"), page.width))
        for mark, text in (("-", change.before), ("+", change.after)):
            if text:
                yield from map(Line, page.hanging(f"      {mark}", text, 8, 2))
    if len(row.changes) > _MOST_CHANGES:
        yield Line(f"    and {len(row.changes) - _MOST_CHANGES} more components")


def why_miss(diff: Diff, *, width: int = 80, color: bool = False, ascii: bool = False) -> str:
    """Every cache look-up that has something to say: a changed key, a lost entry, or why it is not known."""
    page = Page(max(width, 60), ascii)
    said = [row for row in diff.cache_keys if row.status != "same" or row.reason]
    lines = [Line(row, "strong") for row in page.wrap(_why(diff), page.width, 3)]
    alike: dict[object, list[KeyRow]] = {}
    for row in said:
        alike.setdefault(id(row) if row.changes else row.reason, []).append(row)
    lines += [line for rows in alike.values() for line in (Line(""), *_keys(rows, page))]
    return "".join(_paint(line, color) + "\n" for line in lines)


def _why(diff: Diff) -> str:
    if not diff.cache_keys:
        return "No look-up of a compile cache was recorded: only Inductor and AOTAutograd keep caches."
    states = Counter(row.status for row in diff.cache_keys)
    missed = sum(row.status == "same" and row.head_outcome == "miss" for row in diff.cache_keys)
    lost = f" ({missed} missed all the same)" if missed else ""
    looked = count(len(diff.cache_keys), "look-up")
    changed = count(states["changed"], "key")
    return f"{looked}: {changed} changed, {states['same']} the same{lost}, {states['unknown']} unknown."


def _title(text: str) -> Iterator[Line]:
    yield Line("")
    yield Line(text, "strong")


def _more(total: int, page: Page) -> Iterator[Line]:
    if total > _MOST:
        yield Line(page.clip(f"  and {total - _MOST:,} more: {_EVERYTHING}", page.width), "faint")


def _paint(line: Line, color: bool) -> str:
    return f"{STYLES[line.style]}{line.text}{RESET}" if color and line.style and line.text else line.text
