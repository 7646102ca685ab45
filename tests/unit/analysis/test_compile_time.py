"""Wall time of compiling: overlaps once, a killed compile up to the last record."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from model_values import compiled, place, process

from compilescope.analysis.compile_time import compile_wall_s, covered_ns

F = place("f", 10)
SPANS = st.lists(
    st.tuples(st.integers(0, 200), st.integers(0, 50)).map(lambda s: (s[0], s[0] + s[1])), max_size=12
)


@given(SPANS)
def test_the_union_covers_exactly_the_points_of_its_intervals(spans: list[tuple[int, int]]) -> None:
    points = {n for start, end in spans for n in range(start, end)}
    assert covered_ns(spans) == len(points)


def test_two_processes_compiling_at_once_count_once() -> None:
    assert compile_wall_s([process(compiled(0, F)), process(compiled(0, F))]) == 0.5


def test_a_backward_compile_counts() -> None:
    start = 10**18 + 3 * 10**9
    assert compile_wall_s([process(compiled(0, F), backward_spans=((start, start + 10**9),))]) == 1.5


def test_a_compile_cut_by_a_kill_counts_up_to_the_last_record() -> None:
    cut = compiled(0, F, end_ns=None, has_code=None)
    of = replace(process(cut), complete=False, last_ns=10**18 + 2 * 10**9)
    assert compile_wall_s([of]) == 2.0


def test_nothing_timed_is_unknown() -> None:
    assert compile_wall_s([process(compiled(0, F, start_ns=None))]) is None
