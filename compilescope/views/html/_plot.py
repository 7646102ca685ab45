"""A small line chart as SVG, drawn here: it is there without JavaScript, in print, and in both themes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from compilescope.units import visible

WIDTH, HEIGHT = 460, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 12, 12, 40
_TICKS = 5
_LEAST = 1e-9  # below this an axis has nothing to show

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Mark:
    """A point to look at: ``kind`` is its class, ``label`` what it is called; ``low..high`` its interval."""

    at: Point
    kind: str
    label: str
    low: float | None = None
    high: float | None = None


def line_chart(
    points: Sequence[Point], marks: Sequence[Mark], *, x_label: str, y_label: str, describe: str
) -> Markup:
    """``describe`` is its text for those who do not see it; both axes start at 0, units are in the labels."""
    everything = [*points, *(mark.at for mark in marks)]
    x_most = max((x for x, _ in everything), default=0.0)
    y_most = max((*(y for _, y in everything), *(mark.high or 0.0 for mark in marks)), default=0.0)
    frame = _Frame(*(most if most > _LEAST else 1.0 for most in (x_most, y_most)))
    parts = [*frame.axes(x_label, y_label), frame.line(points), *(frame.mark(mark) for mark in marks)]
    return Markup(  # every text in it was escaped
        f'<svg class="chart" role="img" aria-label="{escape(visible(describe))}" width="{WIDTH}" '
        f'height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">{"".join(parts)}</svg>'
    )


@dataclass(frozen=True, slots=True)
class _Frame:
    x_most: float
    y_most: float

    def x(self, value: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * value / self.x_most

    def y(self, value: float) -> float:
        return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * value / self.y_most

    def axes(self, x_label: str, y_label: str) -> Iterator[str]:
        bottom = HEIGHT - _BOTTOM
        for value in ticks(self.y_most):
            y = self.y(value)
            yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}"/>'
            yield _text(_LEFT - 6, y + 4, short(value), "end")
        for value in ticks(self.x_most):
            yield _text(self.x(value), bottom + 16, short(value), "middle")
        yield _text((WIDTH + _LEFT) / 2, HEIGHT - 6, x_label, "middle")
        yield (
            f'<text transform="translate(12 {(HEIGHT - _BOTTOM + _TOP) / 2}) rotate(-90)" '
            f'text-anchor="middle">{escape(visible(y_label))}</text>'
        )

    def line(self, points: Sequence[Point]) -> str:
        if len(points) < 2:
            return ""
        steps = "L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)
        return f'<path class="line" d="M{steps}"/>'

    def mark(self, mark: Mark) -> str:
        x, y = self.x(mark.at[0]), self.y(mark.at[1])
        whisker = ""
        if mark.low is not None and mark.high is not None:
            whisker = f'<path class="whisker" d="M{x:.1f} {self.y(mark.low):.1f}V{self.y(mark.high):.1f}"/>'
        title = f"<title>{escape(visible(mark.label))}</title>"
        place = f'cx="{x:.1f}" cy="{y:.1f}" r="4"'
        return f'{whisker}<circle class="{escape(mark.kind)}" {place}>{title}</circle>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(visible(text))}</text>'


def ticks(most: float) -> list[float]:
    """Round values from 0 up to ``most``: steps of 1, 2 or 5 times a power of ten."""
    rough = most / _TICKS
    scale = 10.0 ** math.floor(math.log10(rough))
    step = next((base * scale for base in (1, 2, 5, 10) if base * scale >= rough), 10 * scale)
    return [step * number for number in range(int(most / step + 1e-9) + 1)]


def short(value: float) -> str:
    """1500 -> '1.5k', 0.25 -> '0.25'"""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.4g}{unit}"
    return f"{value:.4g}"
