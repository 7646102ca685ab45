"""JSON Schema (draft 2020-12) of the JSON form of a study."""

from __future__ import annotations

from typing import Any

from compilescope.ladder.planner.json_form import FORMAT_VERSION
from compilescope.ladder.planner.limits import Limits

_COUNT = {"type": "integer", "minimum": 0}
_SIZE = {"type": "integer", "minimum": 1}
_NUMBER = {"type": "number"}
_MAYBE = {"type": ["number", "null"]}
_SHARE = {"type": "number", "minimum": 0, "maximum": 1.0000001}
_TEXT = {"type": "string"}
_FLAG = {"type": "boolean"}
_MAYBE_FLAG = {"type": ["boolean", "null"]}


def study_schema() -> dict[str, Any]:
    """Every key is required; more may be added within a format version."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:compilescope:ladder:{FORMAT_VERSION}",
        "title": "CompileScope ladder plan",
        **_object(
            format_version={"const": FORMAT_VERSION},
            traffic=_traffic(),
            costs=_object(
                unit={"enum": ["us", "elements"]},
                static={"enum": ["measured", "fitted", "assumed"]},
                dynamic_hints=_list({"type": ["integer", "null"]}),
                seconds_known=_FLAG,
                memory_known=_FLAG,
            ),
            plan=_plan(),
            score={"$ref": "#/$defs/score"},
            rivals=_list(
                _object(
                    name=_TEXT,
                    score={"$ref": "#/$defs/score"},
                    gain=_object(share=_NUMBER, low=_NUMBER, high=_NUMBER),
                    same_count={"anyOf": [{"$ref": "#/$defs/score"}, {"type": "null"}]},
                )
            ),
            pays=_MAYBE_FLAG,
            notes=_list(_TEXT),
        ),
        "$defs": {"ladder": _ladder(), "choice": _choice(), "score": _score()},
    }


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _traffic() -> dict[str, Any]:
    bar = _object(low=_COUNT, high=_COUNT, calls=_COUNT, rungs=_list(_SIZE))
    drift = _object(
        symbol=_TEXT,
        statistic_name=_TEXT,
        statistic=_SHARE,
        critical=_NUMBER,
        drifts=_FLAG,
        early_median=_SIZE,
        late_median=_SIZE,
    )
    return _object(
        label=_TEXT,
        symbols=_list(_TEXT),
        calls=_SIZE,
        early_calls=_SIZE,
        late_calls=_SIZE,
        ordered=_FLAG,
        unseen={"type": ["integer", "null"]},
        unseen_share=_MAYBE,
        histograms=_list(_object(symbol=_TEXT, bars=_list(bar))),
        drift=_list(drift),
    )


def _plan() -> dict[str, Any]:
    limits = {name: _FLAG if name in ("pins", "pads") else _MAYBE for name in Limits.__dataclass_fields__}
    return _object(
        method={"enum": ["exact", "lagrangian", "local search"]},
        gap=_MAYBE,
        horizon_calls=_NUMBER,
        limits=_object(**limits),
        chosen={"$ref": "#/$defs/choice"},
        code=_TEXT,
        by_count=_list({"$ref": "#/$defs/choice"}),
        pays=_MAYBE_FLAG,
        pays_from_calls=_MAYBE,
    )


def _ladder() -> dict[str, Any]:
    span = _object(low=_SIZE, high=_SIZE, hint=_SIZE)
    pair = {"type": "array", "items": _SIZE, "minItems": 2, "maxItems": 2}
    by_symbol = {"type": "object", "additionalProperties": _list(_SIZE)}
    return {
        "oneOf": [
            _object(pins=_list(_SIZE), pads=_list(_SIZE), ranges=_list(span)),
            _object(pads_by_symbol=by_symbol),
            _object(combinations=_list(pair)),
            _object(pairs=_list(pair), range_up_to={"anyOf": [pair, {"type": "null"}]}),
        ]
    }


def _choice() -> dict[str, Any]:
    ladder = {"$ref": "#/$defs/ladder"}
    return _object(
        rungs=_SIZE, ladder=ladder, cost=_NUMBER, total=_NUMBER, compile_s=_MAYBE, memory_bytes=_MAYBE
    )


def _score() -> dict[str, Any]:
    return _object(
        ladder={"$ref": "#/$defs/ladder"},
        rungs=_COUNT,
        cost=_NUMBER,
        low=_NUMBER,
        high=_NUMBER,
        excess=_NUMBER,
        padding=_NUMBER,
        unserved=_COUNT,
        idle=_COUNT,
        measured=_SHARE,
        beyond=_SHARE,
        compile_s=_MAYBE,
        memory_bytes=_MAYBE,
    )
