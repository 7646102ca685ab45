"""What must hold for any two runs, over every program of the corpus and its repaired twin."""

from __future__ import annotations

from dataclasses import asdict

import builders
import pytest
from compare_runs import CASES, corpus, of
from mirror import mirrored, plain

from compilescope.compare import compare

# Its ladder has one rung more, which is one more recompile, for less padding.
_EXPECTED = {"38_poor_bucket_ladder": ("mixed",)}


@pytest.mark.parametrize("case", CASES)
def test_a_run_does_not_differ_from_itself(case):
    diff = compare(corpus(case), corpus(case))
    assert (diff.differs, diff.direction) == (False, "same")
    assert [*diff.functions, *diff.kernels, *diff.choices, *diff.sizes] == []
    assert {row.status for row in diff.cache_keys} <= {"same", "unknown"}


@pytest.mark.parametrize("case", CASES)
def test_the_other_way_round_is_the_mirror_image(case):
    forth = compare(corpus(case), corpus(f"{case}_fixed"))
    back = compare(corpus(f"{case}_fixed"), corpus(case))
    assert plain(forth) == mirrored(back)


@pytest.mark.parametrize("case", CASES)
def test_the_repaired_twin_is_better(case):
    diff = compare(corpus(case), corpus(f"{case}_fixed"))
    assert diff.direction in (_EXPECTED.get(case, ("better",))), diff.verdict


@pytest.mark.parametrize("build", builders.ALL)
def test_any_report_can_be_compared_with_any(build):
    for other in (build(), builders.empty(), builders.hostile()):
        diff = compare(of(build()), of(other))
        assert asdict(diff) == asdict(compare(of(build()), of(other)))
