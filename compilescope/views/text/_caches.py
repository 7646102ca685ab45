"""The compile caches: what they were asked, what they gave, and why one gave nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from compilescope.units import seconds
from compilescope.views.text._page import Page

if TYPE_CHECKING:
    from compilescope.analysis.report import CacheTotals

_LABEL = 16


def cache_lines(totals: CacheTotals, page: Page) -> list[str]:
    """A line or more for each cache."""
    lines = ["CACHES"]
    for name, text in _facts(totals):
        lines += page.hanging(f"  {name}".ljust(_LABEL), text, _LABEL, 3)
    return lines


def _facts(totals: CacheTotals) -> Iterator[tuple[str, str]]:
    why = {fact.fact: fact.reason for fact in totals.missing}
    reasons = list(dict.fromkeys(p.reason for p in totals.profiles if p.reason))
    for label, name, outcomes in (
        ("FX graph", "fx_graph", totals.fx_graph),
        ("AOTAutograd", "aot_autograd", totals.aot_autograd),
        ("Triton", "triton_bundle", totals.triton_bundle),
        ("PGO profile", "pgo", totals.pgo),
    ):
        parts = [_counts(outcomes) or why.get(name, "not asked")]
        if name in totals.saved_s:
            parts.append(f"saved {seconds(totals.saved_s[name])} by torch's account")
        yield label, ", ".join([*parts, *(reasons if name == "pgo" else ())])
    remote = [f"{cache} {_counts(found)}" for cache, found in totals.remote.items()]
    yield "remote", ", ".join(remote) or why.get("remote", "not asked")


def _counts(outcomes: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} {outcome}" for outcome, n in outcomes.items())
