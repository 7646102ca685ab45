from __future__ import annotations

import copy
import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import builders
import jsonschema
import pytest

from compilescope.analysis import report as r
from compilescope.views.json import render, schema
from compilescope.views.json._words import DESCRIPTIONS, VOCABULARY

SHIPPED = Path(__file__).parents[3] / "reports" / "schema" / "summary.schema.json"
ALL = builders.ALL

# The names that tools rely on, written out: a renamed field must fail here.
CONTRACT = {
    "recording": "path command exit_status started wall_s complete counts_as_of",
    "processes": "id pid rank world_size torch python device missing damage",
    "totals": "frames compiles graphs graph_break_sites graph_break_events recompiles limit_hits failures "
    "compile_wall_s compiled_calls eager_calls",
    "graph_breaks": "file line function code causes gb_types gb_ids reason hint events runtime_hits resume "
    "call_path compile_ids process",
    "recompiles": "function file line kind holder value_type source changes count blocked_by_limit "
    "also_failed caused_by benign wasted_compile_s compile_ids called_from process",
    "limit_hits": "function file line limit last_cause eager_calls total_calls process",
    "failures": "exception message function file line suppressed phase compile_id process",
    "graphs": "epoch compile_id function file line ops calls backward compile_s phases cache placeholders "
    "sizes_seen specializations kernels",
}


@pytest.fixture(scope="module")
def validator() -> Any:
    jsonschema.Draft202012Validator.check_schema(schema())
    return jsonschema.Draft202012Validator(schema())


@pytest.mark.parametrize("build", ALL)
def test_every_report_is_valid(build, validator) -> None:
    text = render(build())
    validator.validate(json.loads(text))
    assert text.isascii()
    assert text.endswith("}\n")


def test_contract_names_are_there() -> None:
    data = json.loads(render(builders.rich()))
    assert data["format_version"] == 1
    assert data["buckets"][0]["hits"] == 120
    assert data["findings"][0]["rule"]
    for section, names in CONTRACT.items():
        entry = data[section]
        assert set(names.split()) <= set(entry[0] if isinstance(entry, list) else entry), section


def test_values_survive() -> None:
    data = json.loads(render(builders.rich()))
    assert data["recompiles"][0]["changes"][:2] == [[0, 1], [1, 2]]
    assert data["graph_breaks"][2]["runtime_hits"] is None
    assert data["graphs"][-2]["sizes_seen"][0] == {"values": {"s77": 12}, "count": 30}
    assert data["recording"]["git_dirty"] is True


def test_equal_reports_give_equal_bytes() -> None:
    report = builders.rich()
    turned = dataclasses.replace(report, unknown_records=dict(reversed({"a": 1, "b": 2}.items())))
    straight = dataclasses.replace(report, unknown_records={"a": 1, "b": 2})
    assert render(turned) == render(straight)
    assert render(copy.deepcopy(report)) == render(report)


def test_numbers_that_are_not_finite(validator) -> None:
    report = builders.rich()
    recompile = dataclasses.replace(report.recompiles[0], changes=[(math.nan, -math.inf)])
    recording = dataclasses.replace(report.recording, wall_s=math.inf)
    graph = dataclasses.replace(report.graphs[0], phases={"dynamo": math.nan})
    report = dataclasses.replace(report, recompiles=[recompile], recording=recording, graphs=[graph])
    data = json.loads(render(report), parse_constant=pytest.fail)
    validator.validate(data)
    assert data["recompiles"][0]["changes"] == [["nan", "-inf"]]
    assert data["recording"]["wall_s"] is None
    assert data["graphs"][0]["phases"] == {"dynamo": None}


def test_lone_surrogates_are_spelled_out() -> None:
    report = dataclasses.replace(builders.empty(), unknown_records={"\udcff": 1})
    assert json.loads(render(report))["unknown_records"] == {"\\udcff": 1}


def test_the_shipped_schema_is_the_derived_one() -> None:
    made_by = "python -m compilescope.views.json > reports/schema/summary.schema.json"
    assert SHIPPED.read_text() == json.dumps(schema(), indent=2) + "\n", made_by


def _classes() -> list[type]:
    return [cls for cls in vars(r).values() if isinstance(cls, type) and dataclasses.is_dataclass(cls)]


def test_the_schema_covers_every_field_with_a_description() -> None:
    derived = schema()
    for cls in _classes():
        part = derived if cls is r.Report else derived["$defs"][cls.__name__]
        names = {field.name for field in dataclasses.fields(cls)}
        assert set(part["properties"]) == set(part["required"]) == names
        assert all(prop["description"] for prop in part["properties"].values())
        assert not part["description"].startswith(cls.__name__ + "(")


def test_no_description_is_left_over() -> None:
    fields = {f"{cls.__name__}.{field.name}" for cls in _classes() for field in dataclasses.fields(cls)}
    assert {key for key in DESCRIPTIONS if "." in key} == fields
    assert set(VOCABULARY) <= fields


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format_version",), 2),
        (("totals", "compiles"), "8"),
        (("totals", "compiles"), None),
        (("totals", "eager_calls"), 1.5),
        (("recompiles", 0, "kind"), "length"),
        (("recompiles", 0, "changes"), [[1]]),
        (("recompiles", 0, "changes"), [[1, 2, 3]]),
        (("graph_breaks", 0, "resume"), ["later"]),
        (("limit_hits", 0, "last_cause"), {}),
        (("graphs", 0, "placeholders", 0, "kind"), "int"),
        (("recording", "complete"), 1),
        (("recording", "exit_status"), True),
    ],
)
def test_the_schema_refuses(path, value, validator) -> None:
    data = json.loads(render(builders.rich()))
    target = data
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    assert not validator.is_valid(data)


def test_the_schema_misses_a_removed_field_and_takes_an_added_one(validator) -> None:
    data = json.loads(render(builders.rich()))
    data["totals"]["added_later"] = 1
    assert validator.is_valid(data)
    del data["totals"]["graphs"]
    assert not validator.is_valid(data)
