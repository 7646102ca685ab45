"""What to change hangs on where a value is kept and what it is: zeros are no answer to a missing string."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from report_rows import graph, recompile

from compilescope.advice import Finding, advise
from compilescope.analysis.report import Recompile, Report, Specialization

MakeReport = Callable[..., Report]
HF = "venv/lib/python3.11/site-packages/transformers/"
CALL = "train.py:2 main"


def first(report: MakeReport, row: Recompile, text: str = "x = 1\n") -> Finding:
    return advise(report(recompiles=[row]), {"train.py": text})[0]


def optional(holder: str, *pairs: tuple[Any, Any], source: str = "self.state") -> Recompile:
    return recompile(source=source, holder=holder, value_type="none", changes=list(pairs), count=len(pairs))


@pytest.mark.parametrize(
    ("row", "summary", "fix"),
    [
        (optional("argument", (None, "Tensor"), source="mask"), "None in some calls only", "zeros"),
        (optional("argument", (None, "mean"), source="mode"), "None in some calls only", "accept one graph"),
        (optional("object_attribute", (None, "single")), "None at first and set later", "give it 'single'"),
        (optional("module_attribute", (None, "Tensor")), "None at first and set later", "give it its tensor"),
        (optional("object_attribute", ("tensor", None)), "None in some calls only", "reset in place"),
        (
            optional("object_attribute", ("a", None), (None, "b")),
            "None in some calls only",
            "set once before",
        ),
    ],
)
def test_none_is_answered_by_what_the_other_value_is_and_who_keeps_it(
    report: MakeReport, row: Recompile, summary: str, fix: str
) -> None:
    found = first(report, row)
    assert found.rule == "optional_argument"
    assert summary in found.summary
    assert fix in found.fix
    assert ("zeros" in found.fix) == (fix == "zeros")


@pytest.mark.parametrize(
    ("source", "holder", "change", "summary", "fix"),
    [
        ("keys of feats", "argument", ("a", "a, b"), "the keys of feats change", "fill the missing ones"),
        ("keys of self.t", "module_attribute", ("a", "a, b"), "the keys of self.t change", "fill it before"),
        ("members of seen", "argument", ("{1}", "other"), "the members of seen change", "the same members"),
        ("5 in self.m", "object_attribute", (False, True), "self.m is filled while", "fill it before"),
        ("'a in b' in d", "argument", (True, False), "'a in b' is in d in some calls only", "fill it before"),
        (
            "'kind' in self.config.__dict__",
            "object_attribute",
            (False, True),
            "self.config has the attribute 'kind' in some calls only",
            "set it in __init__",
        ),
    ],
)
def test_keys_are_told_by_the_container_and_the_key(
    report: MakeReport, source: str, holder: str, change: tuple[Any, Any], summary: str, fix: str
) -> None:
    found = first(report, recompile("dict_keys", source, holder=holder, changes=[change]))
    assert found.rule == "dict_keys_change"
    assert summary in found.summary
    assert fix in found.fix


def test_a_dict_that_gets_keys_while_it_runs_is_one_cause_with_its_length(report: MakeReport) -> None:
    rows = [
        recompile("dict_keys", "5 in self.masks", holder="object_attribute", changes=[(False, True)]),
        recompile("container_length", "len(self.masks)", holder="module_attribute", meaning="dict", count=4),
    ]
    (found,) = advise(report(recompiles=rows))
    assert (found.rule, len(found.refs)) == ("dict_keys_change", 2)
    other = recompile("container_length", "len(extra)", count=9, compile_ids=["0/5"])
    apart = advise(report(recompiles=[rows[1], rows[0], other]))
    assert [(f.rule, len(f.refs)) for f in apart] == [("container_growth", 1), ("dict_keys_change", 2)]


@pytest.mark.parametrize(
    ("fields", "text", "fix"),
    [
        ({"meaning": "dict"}, "x = 1\n", "always pass the same keys"),
        ({"meaning": "dict", "holder": "global"}, "x = 1\n", "fill it before the first call"),
        ({"meaning": "tuple"}, "x = 1\n", "pass one tensor"),
        ({"meaning": "list"}, "total(xs)\n", "pass one tensor"),
        ({"meaning": "list"}, "xs.append(1)\n", "ring buffer"),
        ({"meaning": "list", "holder": "module_attribute"}, "x = 1\n", "ring buffer"),
        ({"meaning": "list", "file": "unknown.py"}, "x = 1\n", "ring buffer"),
    ],
)
def test_a_ring_buffer_is_for_a_list_that_somebody_appends_to(
    report: MakeReport, fields: dict[str, Any], text: str, fix: str
) -> None:
    found = first(report, recompile("container_length", "len(xs)", **fields), text)
    assert found.rule == "container_growth"
    assert fix in found.fix


def cached(kind: str, source: str, **fields: Any) -> Recompile:
    row: dict[str, Any] = {
        "function": "wrapped",
        "file": f"{HF}deprecation.py",
        "holder": "object_attribute",
        "called_from": CALL,
    }
    return recompile(kind, f"kwargs['cache'].layers[0].{source}", **(row | fields))


GROWN = cached("size", "keys dim 2", changes=[(5, 6)])
SET = cached("value", "keys", value_type="none", changes=[("tensor", None)], file=f"{HF}cache.py", line=136)
FLAG = cached("value", "is_initialized", value_type="bool", changes=[(False, True)], file=f"{HF}cache.py")


def test_a_growing_cache_of_a_library_is_one_cause_with_a_static_cache_as_its_fix(report: MakeReport) -> None:
    strided = cached("stride", "values stride dim 2", changes=[(16, 32)], compile_ids=["0/4"])
    rows = report(recompiles=[FLAG, SET, GROWN, strided])
    (found,) = advise(rows, {"train.py": "def main():\n    model.generate(prompt)\n"})
    assert (found.rule, found.file, found.line) == ("kv_cache_growth", "train.py", 2)
    assert 'cache_implementation="static"' in found.fix
    assert found.confidence == "medium"


def test_a_cache_that_is_only_filled_once_does_not_grow(report: MakeReport) -> None:
    rules = {f.rule for f in advise(report(recompiles=[SET, FLAG]))}
    assert rules == {"optional_argument", "flag_argument_variants"}
    longer = replace(GROWN, changes=[(10, 14)])  # of another prompt
    elsewhere = replace(GROWN, called_from="train.py:9 main")
    assert "kv_cache_growth" not in {f.rule for f in advise(report(recompiles=[longer, FLAG]))}
    assert "flag_argument_variants" in {f.rule for f in advise(report(recompiles=[elsewhere, FLAG]))}


@pytest.mark.parametrize(
    ("source", "line", "confidence"),
    [
        ("kwargs['input_ids'] dim 1", "    model.generate(prompt)", "medium"),
        ("kwargs['input_ids'] dim 1", "    trainer.train()", "medium"),
        ("kwargs['input_ids'] dim 1", "    trainer.step(input_ids=ids)", "high"),
        ("kwargs['input_ids'] dim 1", "    model(ids)", "high"),
        ("input_ids dim 1", "    self.model(ids)", "high"),
        ("args[0] dim 1", "    net.fast(ids)", "medium"),
        ("batch.mask dim 1", "    model(ids)", "medium"),
    ],
)
def test_a_tensor_that_a_library_hands_over_cannot_be_marked_by_the_program(
    report: MakeReport, source: str, line: str, confidence: str
) -> None:
    row = recompile("size", source, file=f"{HF}bert.py", called_from=CALL)
    found = first(report, row, f"def main():\n{line}\n")
    assert found.confidence == confidence
    assert ("mark_dynamic" in found.fix) == (confidence == "high")


def test_a_field_of_an_object_that_a_library_makes_is_not_quite_sure(report: MakeReport) -> None:
    text = {"train.py": "def main():\n    model.generate(prompt)\n"}
    assert advise(report(recompiles=[SET]), text)[0].confidence == "medium"
    own = replace(SET, source="self.config.kind")
    assert advise(report(recompiles=[own]), text)[0].confidence == "high"


def test_the_size_one_that_a_library_makes_is_not_to_be_padded(report: MakeReport) -> None:
    row = recompile("size_one", "kwargs['ids'] dim 1", file=f"{HF}bert.py", called_from=CALL)
    assert "accept the extra graph" in first(report, row, "def main():\n    model.generate(x)\n").fix
    assert "pad to at least 2" in first(report, recompile("size_one", "x dim 1")).fix


def test_no_mark_is_advised_for_a_size_that_an_operand_fixes(report: MakeReport) -> None:
    pin = Specialization("L['x'].size()[0]", "6", None, "train.py", 2, "self.bias dim 0")
    rows = [recompile("size", "x dim 0", changes=[(5, 6)])]
    known = [graph(compile_id="0/1", specializations=[pin])]
    (found,) = advise(report(recompiles=rows, graphs=known))
    assert "self.bias dim 0 has that size fixed, so torch refuses a dynamic mark" in found.fix


def test_braces_in_a_key_are_text(report: MakeReport) -> None:
    row = recompile("dict_keys", "'{source}' in d", changes=[(True, False)])
    assert "'{source}' is in d" in first(report, row).summary
