"""The page's figure, made by plotly.py and drawn in the browser; the frames table says the same in text."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from compilescope.units import seconds, visible
from compilescope.views.html._format import known_sum

if TYPE_CHECKING:
    from compilescope.analysis.report import Frame

MAX_ROWS = 40
_LONGEST_LABEL = 34
_MEASURES = ("compile_s", "compiled_calls", "eager_calls")


def frames_figure(frames: Sequence[Frame]) -> str | None:
    """Bars of compile time and of calls per frame as JSON for a script element; None without frames.

    Largest first by compile time, at most 40 rows, the rest summed as "others (n)". Colors are names of
    roles in ``meta``: the page fills them in, since it knows whether it is dark.
    """
    if not frames:
        return None
    import plotly.graph_objects as go

    ranked = sorted(frames, key=lambda frame: -(frame.compile_s or 0.0))
    shown, rest = ranked[:MAX_ROWS], ranked[MAX_ROWS:]
    names = [_name(frame) for frame in shown]
    columns = [[getattr(frame, measure) for frame in shown] for measure in _MEASURES]
    if rest:
        names.append(f"others ({len(rest):,})")
        for column, measure in zip(columns, _MEASURES, strict=True):
            column.append(known_sum(rest, measure))
    figure = go.Figure(_bars(go, names, columns), _layout(names))
    return _script_json(figure.to_plotly_json())


def _name(frame: Frame) -> str:
    resumed = f" resumed at {frame.resumed_at}" if frame.resumed_at is not None else ""
    return f"{frame.function}{resumed} · {frame.file}:{frame.line}"


def _bars(go: Any, names: list[str], columns: list[list[Any]]) -> list[Any]:
    compile_s, compiled, eager = columns
    rows = list(range(len(names)))
    # Plotly reads tags and entities in every text, so recorded names are escaped for it as for HTML.
    labels = [html.escape(visible(name)) for name in names]
    shared = {"y": rows, "orientation": "h", "customdata": labels, "cliponaxis": False}
    hover = "%{customdata}<br>%{x:,} "
    return [
        go.Bar(
            x=compile_s, name="compile time", meta="time", showlegend=False, textposition="outside",
            text=[seconds(value) for value in compile_s],
            hovertemplate="%{customdata}<br>%{text} compiling<extra></extra>", **shared,
        ),
        go.Bar(
            x=compiled, name="compiled calls", meta="compiled", xaxis="x2",
            hovertemplate=hover + "compiled calls<extra></extra>", **shared,
        ),
        go.Bar(
            x=[calls or None for calls in eager], name="eager calls", meta="eager", xaxis="x2",
            marker={"pattern": {"shape": "/"}},
            hovertemplate=hover + "eager calls<extra></extra>", **shared,
        ),
    ]  # fmt: skip


def _layout(names: list[str]) -> dict[str, Any]:
    return {
        "template": "none",
        "barmode": "stack",
        "bargap": 0.35,
        "height": 130 + 26 * len(names),
        "margin": {"l": 250, "r": 24, "t": 56, "b": 40},
        "legend": {"orientation": "h", "x": 0.52, "y": 0, "yanchor": "top", "traceorder": "normal"},
        "xaxis": _axis("Compile time (s)", [0, 0.4]),
        "xaxis2": _axis("Calls", [0.52, 1]) | {"anchor": "y"},
        "yaxis": {
            "tickvals": list(range(len(names))),
            "ticktext": [html.escape(_label(name)) for name in names],
            "autorange": "reversed",
            "fixedrange": True,
            "ticks": "",
            "showgrid": False,
            "zeroline": False,
        },
    }


def _axis(title: str, domain: list[float]) -> dict[str, Any]:
    return {
        "title": {"text": title, "standoff": 6},
        "domain": domain,
        "side": "top",
        "rangemode": "tozero",
        "fixedrange": True,
        "nticks": 5,
        "zeroline": True,
    }


def _label(name: str) -> str:
    text = visible(name)
    if len(text) <= _LONGEST_LABEL:
        return text
    return f"{text[: _LONGEST_LABEL // 2 - 1]}…{text[-_LONGEST_LABEL // 2 :]}"


def _script_json(figure: dict[str, Any]) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(figure, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
