"""Autotuned choices size by size, and what checking guards costs."""

from __future__ import annotations

from dataclasses import replace

import builders

from compilescope.analysis.report_graph import SourceLine
from compilescope.analysis.report_guards import GuardCost
from compilescope.analysis.report_tuned import TunedRow, TunedSite
from compilescope.views.html import render

ROW = TunedRow(
    label="16", shapes=["16x64", "64x64"], timed_at=["16x64"], compile_id="0/1", winner="triton_mm_3",
    winner_backend="triton", winner_ms=0.0125, second="mm", second_ms=0.025, margin=2.0, default="mm",
    default_ms=0.025, margin_over_default=2.0, emitted="triton", candidates=12, failed=2, calls=40,
    calls_far=30, far_share=0.75, slowdown=2.7,
)  # fmt: skip
SITE = TunedSite(
    "mm", "Model.forward", "model.py", 12, builders.facts.PROCESS, ["mm"],
    [SourceLine("model.py", 14, "forward", "x @ w")], ["bfloat16"], [],
    [ROW, replace(ROW, label="777", winner="mm", winner_backend="extern", slower_than_default=True)], 5, 1,
)  # fmt: skip


def test_winners_stand_size_by_size_with_what_was_used_far_from_it() -> None:
    page = render(replace(builders.rich(), tuned_sites=[SITE]))
    section = page[page.index('aria-labelledby="tuned"') : page.index('aria-labelledby="sizes"')]
    for fact in (
        "triton_mm_3", "0.0125 ms", "2.00×", "2 of 12 failed", "30 calls (75 %)", "2.70× as long there",
        "slower than the library", "x @ w", "the kind of winner changes 1 time", "and 3 more",
        'id="tuned-model-py-12-mm"',
    ):  # fmt: skip
        assert fact in section, fact
    assert section.count('class="badge good">triton') == 1
    assert section.count('class="badge plain">extern') == 1


def test_unknown_figures_of_guard_checks_are_unknown() -> None:
    unknown = GuardCost("f", "a.py", 3, "p", 1, None, None, None, None, None, None, None, None)
    known = replace(unknown, line=9, check_us=27.5, call_us=127.0, share=0.217, checks_s=0.0083, guards=1982)
    page = render(replace(builders.empty(), guard_costs=[known, unknown]))
    section = page[page.index('aria-labelledby="guard-checks"') :]
    for fact in ("22 %", "27.5 us", "127 us", "1,982", "8.3 ms"):
        assert fact in section, fact
    row = section[
        section.index('id="guards-a-py-3"') : section.index("</tbody>", section.index('id="guards-a-py-3"'))
    ]
    assert row.count('class="unknown"') == 6


def test_without_them_there_is_no_section() -> None:
    page = render(replace(builders.rich(), tuned_sites=[], guard_costs=[]))
    assert 'id="tuned"' not in page
    assert 'id="guard-checks"' not in page
