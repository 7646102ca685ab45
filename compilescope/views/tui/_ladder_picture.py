"""A planned ladder drawn in cells: calls by size with the rungs, cost by size, cost by number of rungs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content

from compilescope.units import count, percent, seconds
from compilescope.views.tui._draw import CODE, LABEL, STRONG
from compilescope.views.tui._words import fit, one_line, wrap
from compilescope.views.tui.tables.shapes import bar

if TYPE_CHECKING:
    from compilescope.analysis.report_ladder import Ladder, LadderCost, LadderHistogram

_WIDE = 120  # from here on the cost stands beside the calls
_COST_ROWS = 8
_MOST_COUNTS = 12
_BREAK = Content("\n")


def picture(ladder: Ladder, width: int) -> Content:
    """At most ``width`` cells."""
    lines = [*_head(ladder, width), Content("")]
    half = width // 2 - 2 if width >= _WIDE else width
    calls = [line for each in ladder.histograms for line in _calls(each, half)]
    costs = [*_curve(ladder, half), *_counts(ladder, half)]
    if width >= _WIDE:
        lines += _beside(calls, costs, half)
    else:
        lines += [*_counts(ladder, half), Content(""), *calls, Content(""), *_curve(ladder, half)]
    lines += [Content(""), *_rivals(ladder, width)]
    for note in ladder.notes:
        lines += [Content.styled(line, LABEL) for line in wrap(f"note: {one_line(note)}", width)]
    return _BREAK.join(lines)


def rungs(ladder: Ladder) -> str:
    """'pads 32 64 128, one range 1..900 tuned at 500'."""
    parts = []
    for name, sizes in (("pins", ladder.pins), ("pads", ladder.pads), *ladder.products.items()):
        if sizes:
            parts.append(f"{one_line(name)} {' '.join(map(str, sizes))}")
    if ladder.combinations:
        names = " x ".join(map(one_line, ladder.symbols))
        parts.append(f"only {names} {' '.join('x'.join(map(str, pair)) for pair in ladder.combinations)}")
    parts += [f"range {each.low}..{each.high} tuned at {each.hint}" for each in ladder.ranges]
    return ", ".join(parts) or "pinned pairs"


def worth(ladder: Ladder) -> str:
    """One sentence: what a call costs with it, and whether a rung pays."""
    above = f"{abs(ladder.excess):.1%} {'below' if ladder.excess < 0 else 'above'} one artifact a size"
    parts = [f"{cost(ladder, ladder.cost)} a call, {above}", f"padding {ladder.padding:.0%}"]
    if ladder.compile_s is not None:
        parts.append(f"{seconds(ladder.compile_s)} to make")
    pays = {True: "static rungs pay", False: "no rung pays", None: ""}[ladder.pays]
    if ladder.pays_from_calls is not None:
        pays = f"{pays}, from {ladder.pays_from_calls:,.0f} calls on" if pays else ""
    return "; ".join(filter(None, [*parts, pays]))


def cost(ladder: Ladder, value: float) -> str:
    return f"{value:,.1f} {'us' if ladder.unit == 'us' else 'elements'}"


def _head(ladder: Ladder, width: int) -> Iterator[Content]:
    order = "in order of time" if ladder.ordered else "order unknown"
    unseen = f", {ladder.unseen_share:.0%} more unseen" if ladder.unseen_share else ""
    yield from (Content.styled(line, STRONG) for line in wrap(rungs(ladder), width))
    yield from map(Content, wrap(worth(ladder), width))
    about = f"{', '.join(map(one_line, ladder.symbols))}: {count(ladder.calls, 'call')} {order}{unseen}"
    basis = {
        "measured": "costs measured",
        "fitted": "costs fitted",
        "assumed": "cost taken to be the number of elements",
    }.get(ladder.basis, ladder.basis)
    yield from (Content.styled(line, LABEL) for line in wrap(f"{about}; {basis}; {ladder.method}", width))
    for drift in ladder.drift:
        text = f"drift: median {one_line(drift.symbol)} {drift.early_median} -> {drift.late_median}"
        yield Content.styled(fit(text, width), "$text-warning")


def _calls(histogram: LadderHistogram, width: int) -> Iterator[Content]:
    yield Content.styled(fit(f"calls by {one_line(histogram.symbol)}, and rungs", width), LABEL)
    most = max((bar.calls for bar in histogram.bars), default=0)
    names = [str(b.low) if b.low == b.high else f"{b.low}-{b.high}" for b in histogram.bars]
    column = max(map(len, names), default=0)
    room = max(width - column - 30, 6)
    for name, each in zip(names, histogram.bars, strict=True):
        drawn = bar(each.calls, most, room)
        marks = " ".join(map(str, each.rungs[:4])) + (" ..." if len(each.rungs) > 4 else "")
        line = f"{name:>{column}} {drawn}{' ' * (room - cell_len(drawn))} {each.calls:>7,} "
        yield Content.assemble(fit(line, min(cell_len(line), width)), (f"<- {marks}" if marks else "", CODE))


def _curve(ladder: Ladder, width: int) -> Iterator[Content]:
    """Static measured points are ``o``, dynamic ones ``x``; the static curve between is a line of dots."""
    if len(ladder.curve) < 2:
        return
    column = 10
    cells, sizes = max(width - column - 2, 10), [each.size for each in ladder.curve]
    lowest, highest = min(sizes), max(sizes)
    top = max(each.cost for each in ladder.curve)
    grid = [[" "] * cells for _ in range(_COST_ROWS)]
    for each in sorted(ladder.curve, key=lambda each: each.measured):
        x = round((each.size - lowest) / max(highest - lowest, 1) * (cells - 1))
        y = min(int((1 - each.cost / top) * _COST_ROWS), _COST_ROWS - 1) if top > 0 else 0
        grid[y][x] = _mark(each)
    yield Content.styled(fit("cost of a call by size (o static, x dynamic: measured; . curve)", width), LABEL)
    for number, row in enumerate(grid):
        label = f"{top * (1 - number / _COST_ROWS):,.0f}" if number % 3 == 0 else ""
        yield Content(f"{label:>{column}} |{''.join(row)}")
    ends = f"{lowest}{'-' * max(cells - len(str(lowest)) - len(str(highest)), 1)}{highest}"
    yield Content.styled(f"{ladder.unit:>{column}} +{ends}", LABEL)


def _mark(each: LadderCost) -> str:
    if not each.measured:
        return "." if each.artifact == "static" else ","
    return "o" if each.artifact == "static" else "x"


def _counts(ladder: Ladder, width: int) -> Iterator[Content]:
    """A bar per number of rungs."""
    if len(ladder.by_count) < 2:
        return
    yield Content.styled(fit("cost of a call by number of rungs, on the half planned on", width), LABEL)
    step = -(-len(ladder.by_count) // _MOST_COUNTS)
    shown = [each for n, each in enumerate(ladder.by_count) if n % step == 0 or each.chosen]
    most, room = max(each.cost for each in shown), max(width - 34, 6)
    for each in shown:
        mark = "<- chosen" if each.chosen else ""
        drawn = bar(each.cost, most, room)
        text = f"{each.rungs:>4} {drawn}{' ' * (room - cell_len(drawn))} {cost(ladder, each.cost)} {mark}"
        yield Content.styled(text, STRONG) if each.chosen else Content(text)


def _rivals(ladder: Ladder, width: int) -> Iterator[Content]:
    if not ladder.rivals:
        return
    names = max(*(len(one_line(each.name, 40)) for each in ladder.rivals), len("planned"))
    yield Content.styled(fit("other ladders, on the later half of the calls", width), LABEL)
    rows: Sequence[tuple[str, int, float, float, str]] = [
        ("planned", ladder.rungs, ladder.cost, ladder.padding, ""),
        *(
            (
                one_line(each.name, 40), each.rungs, each.cost, each.padding,
                f"the plan saves {each.saving:.1%} ({each.saving_low:.1%} to {each.saving_high:.1%})",
            )
            for each in ladder.rivals
        ),
    ]  # fmt: skip
    for name, many, each_cost, padding, saving in rows:
        text = f"{name:<{names}} {many:>4} {cost(ladder, each_cost):>18} {percent(padding, 1):>5}  {saving}"
        yield Content(fit(text, width).rstrip())


def _beside(left: Sequence[Content], right: Sequence[Content], half: int) -> Iterator[Content]:
    for number in range(max(len(left), len(right))):
        one = left[number] if number < len(left) else Content("")
        other = right[number] if number < len(right) else Content("")
        yield Content.assemble(one, " " * max(half + 4 - cell_len(one.plain), 1), other)
