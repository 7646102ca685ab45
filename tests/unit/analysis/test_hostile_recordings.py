"""Whatever well-formed records hold, there is a report, and it is JSON."""

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
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.sampled_from(["", "f", "L['x']", "G['y'].z", "nan", "\x1b["])
)
ANY = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from("tvx"), v), max_leaves=5
)
KINDS = (
    "EQUALS_MATCH",
    "LENGTH_CHECK",
    "TENSOR_MATCH",
    "GLOBAL_STATE",
    "ID_MATCH",
    "TYPE_MATCH",
    "LAMBDA_GUARD",
    "NO_TENSOR_ALIASING",
    "DICT_LENGTH",
)
CODES = (
    "L['x'] == 1",
    "len(L['x']) == 2",
    "list(dict.keys(L['x']))[0] == 'a'",
    "___check_obj_id(L['x'], 1), type=<class 'a.b'>",
    "check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, device=None, size=[2], stride=[1])",
    "2 <= L['x'].size()[0] <= 9",
    '___check_global_state() against {"grad_mode":true,"autocast_state":[1]}',
    "L['x'] == {1, 2}",
    "",
)
TOLD = st.fixed_dictionaries(
    {"t": st.sampled_from(["int", "list", "set", "tensor", "none", "object", "enum", "same", "dict"]) | ANY},
    optional={"v": ANY, "len": ANY, "keys": ANY, "name": ANY},
)
GUARD = st.fixed_dictionaries(
    {"kind": st.sampled_from(KINDS), "code": st.lists(st.sampled_from(CODES), max_size=2)},
    optional={"source": SCALARS, "got": TOLD | ANY, "old": ANY, "at": ANY, "operands": ANY},
)
FAILURE = st.fixed_dictionaries(
    {"entry": SCALARS, "newest": st.booleans(), "failed": st.lists(GUARD, max_size=3) | ANY},
    optional={"first": st.sampled_from(CODES) | SCALARS, "state": ANY, "before": ANY, "unchecked": ANY},
)
METRICS = st.fixed_dictionaries(
    {"has_guarded_code": ANY, "cache_size": ANY, "co_name": SCALARS, "co_filename": SCALARS},
    optional={"fail_type": SCALARS, "fail_reason": SCALARS, "start_time_us": ANY, "end_time_us": ANY},
)
GRAPH = st.fixed_dictionaries(
    {"g": ANY}, optional={"break": ANY, "placeholders": ANY, "sizes": ANY, "ops": ANY}
)
RECORDS = st.one_of(
    st.tuples(st.just("guard_fail"), FAILURE),
    st.tuples(st.just("compilation_metrics"), METRICS),
    st.tuples(st.just("graph"), GRAPH),
    st.tuples(st.sampled_from(["convert", "limit", "late", "dynamo_start", "compile_target"]), ANY),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(records=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3), RECORDS), min_size=1, max_size=8))
def test_any_records_give_a_report(
    records: list[tuple[int, int, tuple[str, Any]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root: Path = tmp_path_factory.mktemp("hostile") / "rec.compilescope"
    writer = Writer(root, {"argv": ["python", "x.py"], "versions": {"torch": "2.13.0"}})
    writer.file_id("/x.py")
    for frame, recompile, (kind, m) in records:
        writer.record("dynamo_start", {"m": {"stack": []}}, c=(frame, recompile, 0, 0))
        writer.record(kind, {"m": m}, c=(frame, recompile, 0, 0))
    writer.close()
    report = build_report(open_recording(root))
    json.dumps(asdict(report), allow_nan=False)
