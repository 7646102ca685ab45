from __future__ import annotations

import pytest
from compare_runs import finding, frame, graph, made

from compilescope.advice.finding import Amount
from compilescope.compare import compare


def test_new_gone_and_the_same():
    kept = finding()
    base = made((kept, finding("scalar_read", subject="item")))
    head = made((kept, finding("print_in_compiled_region", subject="print")))
    found = compare(base, head).findings
    assert [row.rule for row in found.new] == ["print_in_compiled_region"]
    assert [row.rule for row in found.gone] == ["scalar_read"]
    assert (found.changed, found.same) == ([], 1)


def test_lines_seconds_and_severity_are_no_change():
    base = made((finding(line=3, compile_s=Amount(0.4, "measured", "")),))
    head = made((finding(line=90, severity="high", compile_s=Amount(90.0, "measured", "")),))
    diff = compare(base, head)
    assert (diff.findings.new, diff.findings.gone, diff.findings.changed) == ([], [], [])
    assert diff.differs is False


def test_a_moved_file_keeps_its_findings():
    base = made((finding(file="/old/pkg/m.py"),))
    head = made((finding(file="/new/pkg/m.py"),))
    assert compare(base, head).findings.same == 1


@pytest.mark.parametrize(("before", "after", "worse"), [(1, 7, True), (7, 1, False)])
def test_counts_are_exact(before, after, worse):
    diff = compare(made((finding(recompiles=before),)), made((finding(recompiles=after),)))
    (change,) = diff.findings.changed
    assert [(row.name, row.base, row.head) for row in change.counts] == [("recompiles", before, after)]
    assert change.worse is worse
    assert diff.direction == ("worse" if worse else "better")


def test_what_grows_with_the_steps_is_a_difference_and_not_worse():
    diff = compare(made((finding(eager_calls=10),)), made((finding(eager_calls=20),)))
    assert diff.findings.changed[0].worse is None
    assert diff.direction == "other"


def test_an_absent_count_is_zero_but_unknown_executions_are_not():
    diff = compare(made((finding(),)), made((finding(recompiles=2),)))
    assert diff.findings.changed[0].counts[0].base == 0
    diff = compare(made((finding(),)), made((finding(breaks_executed=2),)))
    assert diff.findings.changed == []


def test_a_finding_that_seconds_decide_is_a_condition_where_the_work_is_the_same():
    found = finding("guard_overhead")
    diff = compare(made(), made((found,)))
    assert (diff.differs, diff.findings.new) == (False, [])
    assert diff.conditions == ["only HEAD has the finding guard_overhead (train.py): seconds decide about it"]
    other = made((found,), frames=[frame()], graphs=[graph()])
    assert [row.rule for row in compare(made(), other).findings.new] == ["guard_overhead"]


def test_a_note_does_not_make_a_run_worse():
    diff = compare(made(), made((finding(severity="note"),)))
    assert diff.differs is True
    assert diff.direction == "other"


def test_better_and_worse_at_once():
    diff = compare(made((finding(),)), made((finding("scalar_read"),)))
    assert diff.direction == "mixed"
    assert diff.verdict == [
        "HEAD is better in some things and worse in others: 1 new finding, 1 finding gone."
    ]
