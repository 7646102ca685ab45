"""Laws over any report: every row is explained exactly once, order does not depend on the order of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import builders
from hypothesis import given
from hypothesis import strategies as st
from report_rows import failure, graph_break, limit_hit, recompile

from compilescope.advice import advise, findings_json
from compilescope.advice.break_words import WORDS as BREAKS
from compilescope.analysis.report import Report

_KINDS = (
    *("size", "size_one", "stride", "rank", "dtype", "device", "requires_grad", "dispatch_keys", "value"),
    *("type", "identity", "code", "container_length", "dict_keys", "grad_mode", "autocast", "training_mode"),
    *("backend", "symbolic_guard", "duck_shape", "constraint", "alignment", "other", "made_up_tomorrow"),
)
_HOLDERS = (
    *("argument", "module_attribute", "object_attribute", "closure", "global", "container_item"),
    *("resume_value", None),
)
_SOURCES = (
    "n",
    "self.n",
    "x dim 0",
    "len(h)",
    "keys of d",
    "cache[0] dim 1",
    "",
    "{x}",
    "a and b",
    "é\x1b[31m",
)
_SCALARS = st.none() | st.integers(0, 9) | st.sampled_from(["a", "Tensor"]) | st.booleans() | st.floats()

recompiles = st.builds(
    recompile,
    kind=st.sampled_from(_KINDS),
    source=st.sampled_from(_SOURCES),
    holder=st.sampled_from(_HOLDERS),
    value_type=st.sampled_from(("int", "float", "str", "bool", "enum", "none", None)),
    changes=st.lists(st.tuples(_SCALARS, _SCALARS), max_size=4),
    count=st.integers(0, 9),
    blocked_by_limit=st.integers(0, 2),
    benign=st.booleans(),
    caused_by=st.sampled_from((None, "train.py:5", "other.py:1")),
    wasted_compile_s=st.none() | st.floats(0, 1e4),
    compile_ids=st.lists(st.sampled_from(("0/1", "0/2", "!0/1/0", "")), max_size=3),
    function=st.sampled_from(("forward", "main")),
    process=st.sampled_from(("p0", "p1")),
)
breaks = st.builds(
    graph_break,
    cause=st.sampled_from((*BREAKS, "made_up_tomorrow")),
    line=st.integers(1, 9),
    runtime_hits=st.none() | st.integers(0, 10**6),
    resume=st.lists(st.sampled_from(("resumable", "tail_skipped", "frame_skipped")), max_size=2),
    library=st.booleans(),
    call_path=st.lists(st.sampled_from(("train.py:9 main", "no place", "")), max_size=3),
    process=st.sampled_from(("p0", "p1")),
)
limits = st.builds(
    limit_hit, eager_calls=st.none() | st.integers(0, 99), process=st.sampled_from(("p0", "p1"))
)
failures = st.builds(
    failure,
    exception=st.sampled_from(("Unsupported", "FailOnRecompileLimitHit", "BackendCompilerFailed", "X")),
    suppressed=st.booleans(),
    message=st.sampled_from(("", "There was no fake impl registered", "Tensor.item()")),
)
_TEXT = """def forward(self, x):
    y = x.max().item()
    if x.any():
        x = x + 1
    print(x)
    return x
"""


@st.composite
def reports(draw: st.DrawFn) -> Report:
    rows: dict[str, Any] = {
        "graph_breaks": draw(st.lists(breaks, max_size=4)),
        "recompiles": draw(st.lists(recompiles, max_size=5)),
        "limit_hits": draw(st.lists(limits, max_size=2)),
        "failures": draw(st.lists(failures, max_size=2)),
    }
    return replace(builders.empty(), **rows)


@given(reports(), st.sampled_from([{}, {"train.py": _TEXT}, {"train.py": "def f(:"}]))
def test_every_row_is_explained_by_exactly_one_finding(report: Report, sources: dict[str, str]) -> None:
    refs = [ref for finding in advise(report, sources) for ref in finding.refs]
    rows = [
        f"{name}[{i}]"
        for name in ("graph_breaks", "recompiles", "limit_hits", "failures")
        for i in range(len(getattr(report, name)))
    ]
    assert sorted(refs) == sorted(rows)


@given(reports())
def test_identities_are_distinct_and_the_list_is_the_same_when_asked_again(report: Report) -> None:
    found = advise(report)
    assert len({f.identity for f in found}) == len(found)
    assert findings_json(found) == findings_json(advise(report)) or "nan" in str(found)
