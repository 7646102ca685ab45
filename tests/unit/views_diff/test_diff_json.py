from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import diffs
import jsonschema
import pytest

from compilescope.compare import diff as d
from compilescope.views.json.diff import render, schema

SHIPPED = Path(__file__).parents[3] / "reports" / "schema" / "diff.schema.json"


@pytest.mark.parametrize("build", [diffs.real, diffs.same, diffs.full, diffs.huge])
def test_every_diff_is_valid(build):
    text = render(build())
    jsonschema.Draft202012Validator(schema()).validate(json.loads(text))
    assert text.isascii()
    assert text == render(build())


def test_the_shipped_schema_is_the_derived_one():
    assert json.loads(SHIPPED.read_text()) == schema()
    jsonschema.Draft202012Validator.check_schema(schema())


def test_every_field_is_described():
    definitions = {**schema()["$defs"], "Diff": schema()}
    for name, definition in definitions.items():
        for field, described in definition["properties"].items():
            assert described["description"], f"{name}.{field}"


def test_a_renamed_field_is_noticed():
    data = json.loads(render(diffs.full()))
    del data["cache_keys"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema())


def test_words_of_a_fixed_vocabulary():
    """The words the schema lists are those the code says."""
    for case in ("01_print_in_forward", "37_rank_skew", "36_cache_miss_across_processes"):
        jsonschema.validate(json.loads(render(diffs.real(case))), schema())


def test_contract_names():
    data = json.loads(render(diffs.full()))
    names = "format_version base head differs direction verdict environment conditions findings counts times"
    names += " functions kernels choices sizes buckets cache_keys not_compared"
    assert list(data) == names.split()
    assert list(data) == [field.name for field in dataclasses.fields(d.Diff)]
