"""A diff as a pull request comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compilescope.units import count, seconds
from compilescope.views import diff_words as words
from compilescope.views.markdown._escape import code, place, plain, prose, table
from compilescope.views.markdown._page import Block, details, page

if TYPE_CHECKING:
    from compilescope.compare.diff import Diff, FindingRow, Side

_MOST = 50


def render(diff: Diff) -> str:
    """At most 60,000 characters; what had to be left out is said at the end."""
    return page(list(_blocks(diff)))


def _blocks(diff: Diff) -> Iterator[Block]:
    yield Block("the verdict", _verdict(diff))
    found = diff.findings
    for title, rows in (("New findings", found.new), ("Findings gone", found.gone)):
        if rows:
            yield Block(title.lower(), _list(title, [_finding(row) for row in rows]))
    if found.changed:
        changed = [f"{_finding(c.head)}: {plain(words.finding_change_words(c))}" for c in found.changed]
        yield Block("findings changed", _list("Findings changed", changed))
    yield Block("counts", _counts(diff))
    yield from _rest(diff)
    yield Block("the two recordings", _sides(diff))


def _verdict(diff: Diff) -> str:
    heading = f"### CompileScope: {plain(words.side_name(diff.head), 200)}, compared"
    notes = [f"- {plain(text)}" for text in diff.conditions]
    bold = [f"**{plain(sentence, 800)}**" for sentence in diff.verdict[:1]]
    rest = " ".join(plain(sentence, 800) for sentence in diff.verdict[1:])
    return "\n\n".join(part for part in (heading, *bold, rest, "\n".join(notes)) if part)


def _finding(row: FindingRow) -> str:
    fix = f". Fix: {prose(row.fix)}" if row.fix else ""
    return f"{prose(row.summary)} ({plain(row.severity)}) {place(row.file, row.line)}{fix}"


def _list(title: str, rows: Sequence[str]) -> str:
    more = [f"- and {len(rows) - _MOST:,} more"] if len(rows) > _MOST else []
    return "\n".join([f"**{title} ({len(rows):,})**", "", *(f"- {row}" for row in rows[:_MOST]), *more])


def _counts(diff: Diff) -> str:
    rows = [
        [plain(words.count_name(r.name)), words.number(r.base), words.number(r.head), words.change(r)]
        for r in diff.counts
        if r.differs
    ]
    rows += [
        [
            plain(words.time_name(t.name)),
            seconds(t.base_s),
            seconds(t.head_s),
            words.factor(t.base_s, t.head_s),
        ]
        for t in diff.times
    ]
    return table(("counts that differ, and times", ">BASE", ">HEAD", ">change"), rows)


def _rest(diff: Diff) -> Iterator[Block]:
    keys = [key for key in diff.cache_keys if key.status == "changed"]
    sections: tuple[tuple[str, list[tuple[str, str]]], ...] = (
        (
            "Graphs split, merged, new or gone",
            [(words.place_words(f.place), words.function_words(f)) for f in diff.functions],
        ),
        ("Kernels", [(words.place_words(k.place), words.kernel_words(k)) for k in diff.kernels]),
        ("Autotuned choices", [(words.place_words(c.place), words.choice_words(c)) for c in diff.choices]),
        ("Sizes that moved", [(words.place_words(s.place), words.sizes_words(s)) for s in diff.sizes]),
        ("Buckets", [(words.place_words(b.place), words.bucket_words(b)) for b in diff.buckets]),
        ("Cache keys that changed", [(words.key_head(k), words.key_changes(k)) for k in keys]),
    )
    for title, rows in sections:
        if rows:
            shown = [f"- {code(where)}: {plain(text)}" for where, text in rows[:_MOST]]
            if len(rows) > _MOST:
                shown.append(f"- and {len(rows) - _MOST:,} more")
            yield Block(title.lower(), details(f"{title} ({len(rows):,})", "\n".join(shown)))


def _sides(diff: Diff) -> str:
    lines = [_side("BASE", diff.base), _side("HEAD", diff.head)]
    unknown = words.not_compared(diff)
    if unknown:
        facts = "; ".join(plain(f"{fact} ({reason})") for fact, reason in unknown[:20])
        lines.append(f"- not known in one of them: {facts}")
    return details("The two recordings", "\n".join(lines))


def _side(label: str, side: Side) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in side.versions.items())
    dirty = " and changes" if side.git_dirty else ""
    git = f", git {code(side.git_revision[:12])}{dirty}" if side.git_revision else ""
    about = ", ".join(
        (versions, side.device or "device unknown", count(side.processes, "process", "processes"))
    )
    return f"- {label}: {code(side.path)}{git}, {plain(about)}"
