"""Whatever records below Dynamo hold, there is a report, and it is JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compilescope.analysis import build_report
from compilescope.recording import Writer, open_recording

SCALARS = (
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "8", "s0", "0/0", "nan", "\x1b["])
)
ANY = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from("tvx"), v), max_leaves=5
)
EVENTS = ("EntryCaptured", "RungCompiled", "RungRefused", "RungFailed", "BackendReset")
BUCKET = st.fixed_dictionaries(
    {"event": st.sampled_from(EVENTS)},
    optional={
        name: ANY | st.lists(st.tuples(SCALARS, SCALARS, SCALARS), max_size=2)
        for name in ("backend", "entry", "rung", "kind", "sizes", "inputs", "wall_s", "predicate", "symbols")
    },
)
SYMBOLS = st.dictionaries(st.sampled_from(["s0", "u1"]), ANY, max_size=2)
PLACEHOLDER = st.fixed_dictionaries(
    {"name": SCALARS, "kind": st.sampled_from(["tensor", "symint"]), "source": st.just("L['x']")},
    optional={"shape": ANY, "expr": SCALARS, "hint": ANY},
)
M_OF = {
    "bucket": BUCKET,
    "graph": st.fixed_dictionaries(
        {"g": st.integers(0, 2)},
        optional={"symbols": SYMBOLS | ANY, "sizes": ANY, "placeholders": st.lists(PLACEHOLDER, max_size=2)},
    ),
    "guards": st.fixed_dictionaries({}, optional={"count": ANY, "hot_check_us": ANY}),
    "create_symbol": st.fixed_dictionaries(
        {"symbol": SCALARS}, optional={"val": ANY, "vr": ANY, "user_stack": ANY}
    ),
    "guard_added_fast": st.fixed_dictionaries({"expr": ANY}, optional={"user_stack": ANY}),
    "fx_graph": st.fixed_dictionaries(
        {"i": ANY}, optional={"code": ANY, "is_backward": ANY, "cudagraphs": ANY}
    ),
    "autotune": st.dictionaries(st.sampled_from(["op", "choices", "shapes", "dtypes"]), ANY, max_size=3),
    "cudagraph_record": st.dictionaries(st.sampled_from(["mode", "compile", "inputs"]), ANY, max_size=3),
    "inductor_output_code": st.fixed_dictionaries({"filename": ANY}),
    "thread": st.fixed_dictionaries({"ident": ANY, "name": ANY}),
    "artifact": st.fixed_dictionaries(
        {"name": st.sampled_from(["fx_graph_cache_miss", "compiled_autograd_compile_reasons"])}
    ),
}
X_OF = {
    "runs": {"g": st.lists(st.tuples(SCALARS, SCALARS, ANY), max_size=3) | ANY, "i": ANY},
    "dispatch": {"rows": st.lists(st.tuples(*[ANY] * 7), max_size=2) | ANY},
    "phases": {"t0": SCALARS, "rows": st.lists(st.tuples(*[SCALARS] * 4, ANY), max_size=3) | ANY},
    "open": {"stack": st.lists(st.tuples(SCALARS, SCALARS), max_size=2) | ANY},
}
RECORDS = st.one_of(
    *(st.tuples(st.just(kind), st.fixed_dictionaries({"m": m})) for kind, m in M_OF.items()),
    *(st.tuples(st.just(kind), st.fixed_dictionaries(x)) for kind, x in X_OF.items()),
)
PAYLOADS = (
    st.none() | ANY.map(json.dumps) | st.sampled_from(["def call(args):\n    buf0 = ", "{", '[["x", []]]'])
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(records=st.lists(st.tuples(RECORDS, PAYLOADS), min_size=1, max_size=8), killed=st.booleans())
def test_any_records_give_a_report(
    records: list[tuple[tuple[str, dict[str, Any]], str | None]],
    killed: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root: Path = tmp_path_factory.mktemp("hostile") / "rec.compilescope"
    writer = Writer(root, {"argv": ["python", "x.py"], "versions": {"torch": "2.13.0"}})
    writer.record("dynamo_start", {"m": {"stack": []}}, c=(0, 0, 0, 0))
    writer.record("graph", {"m": {"g": 0, "sizes": ["s0"]}}, c=(0, 0, 0, 0))
    for (kind, fields), payload in records:
        writer.record(kind, fields, c=(0, 0, 0, 0), payload=payload, payload_kind=kind)
    if not killed:
        writer.close()
    report = build_report(open_recording(root))
    json.dumps(asdict(report), allow_nan=False)
