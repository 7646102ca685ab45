"""Diffs to draw: of real runs, one with every section filled, one hostile, one huge."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import builders
from compare_runs import corpus, made

from compilescope.analysis.report import KeyChange
from compilescope.compare import Diff, compare
from compilescope.compare import diff as d


@cache
def real(case: str = "10_batch_size_drift") -> Diff:
    return compare(corpus(case), corpus(f"{case}_fixed"))


def same() -> Diff:
    return compare(corpus("10_batch_size_drift"), corpus("10_batch_size_drift"))


def full() -> Diff:
    """Every section has a row."""
    place = d.Place("Net.forward", "net.py", 12, [0, 1])
    shape = d.FunctionShape(1, 1, [12])
    row = d.FindingRow(
        "size_drift|net.py|f|x", "size_drift", "high", "net.py", 7, "f", "f(): sizes", "pad `x`"
    )
    counts = [d.CountRow("recompiles", 1, 7, True, False), d.CountRow("graphs", 3, 3, False, False)]
    return replace(
        compare(made(), made()),
        differs=True,
        direction="worse",
        verdict=[
            "Not the same environment: torch 2.13.0 → 2.14.1. Times are not compared.",
            "HEAD is worse.",
        ],
        environment=[d.Changed("torch", "2.13.0", "2.14.1")],
        conditions=["BASE made 5 calls and HEAD 9: what grows with steps differs"],
        findings=d.FindingsDiff(
            [row], [replace(row, severity="note")], [d.FindingChange(row, row, counts[:1], True)], 3
        ),
        counts=counts,
        times=[d.TimeRow("compile_wall_s", 2.0, 30.0, True)],
        functions=[d.FunctionChange(place, "split", shape, d.FunctionShape(2, 2, [5, None]))],
        kernels=[
            d.KernelChange(
                place, "forward", "choice", ["aten.mm"], "extern gemm (cuBLAS)", "triton template", 1, 1
            ),
            d.KernelChange(place, None, "new", [], None, "triton pointwise", 0, 2),
        ],
        choices=[
            d.ChoiceChange(
                place, "mm", ["16x64", "64x64"], "mm", "triton_mm", "extern", "triton", 1.5, None, True
            )
        ],
        sizes=[d.SizesChange(place, "x.size(0)", d.SizeRange(8, 8, 1, 4), None, [], [8], None)],
        buckets=[
            d.BucketChange(place, "64", "other", "pad", "pin, refused", 12, None),
            d.BucketChange(place, "128", "new", None, "pad", None, 1),
        ],
        cache_keys=[
            d.KeyRow(
                place,
                "fx_graph",
                "0/0",
                "forward",
                "miss",
                "miss",
                "changed",
                None,
                [KeyChange("inductor_config[max_autotune]", "changed", "False", "True")],
            ),
            d.KeyRow(
                place,
                "aot_autograd",
                "0/0",
                None,
                "miss",
                "bypass",
                "unknown",
                "HEAD bypassed the cache: x",
                [],
            ),
        ],
        not_compared=[d.NotCompared("head", "kernels", "eager"), d.NotCompared("both", "fusion", "eager")],
    )


def hostile() -> Diff:
    """Every text that a recording chooses is an attack."""
    turns = iter(range(10**9))
    diff = full()
    poisoned = builders.poison(diff, lambda: builders.ATTACKS[next(turns) % len(builders.ATTACKS)])
    return replace(
        poisoned,
        direction="worse",
        counts=diff.counts,
        not_compared=[replace(row, side="head") for row in poisoned.not_compared],
        cache_keys=[replace(row, status="changed") for row in poisoned.cache_keys],
    )


def huge(rows: int = 3000) -> Diff:
    """More rows than any page can show."""
    diff = full()
    new = [replace(diff.findings.new[0], summary=f"finding {n} " + "x" * 200, line=n) for n in range(rows)]
    return replace(
        diff,
        findings=replace(diff.findings, new=new),
        kernels=diff.kernels * rows,
        cache_keys=diff.cache_keys * rows,
        functions=diff.functions * rows,
    )
