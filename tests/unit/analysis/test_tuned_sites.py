"""Winner by size: compiles and rungs of one function side by side, and sizes far from the timed one."""

from __future__ import annotations

from pathlib import Path

import pytest

from compilescope.advice import advise
from compilescope.analysis import build_report
from compilescope.analysis.report import Autotuning, Bucket, BucketSize, Choice, Graph, SizeCount, SourceLine
from compilescope.analysis.tuned_sites import tuned_sites
from compilescope.recording import open_recording

LOGS = Path(__file__).parents[1] / "recording" / "logs"


def choice(name: str, time_ms: float | None, why: str | None = None) -> Choice:
    backend = "triton" if name.startswith("triton") else "extern"
    return Choice(name, backend, time_ms, time_ms is None, None if backend == "extern" else name[-1], why)


def tuned(rows: str, *choices: Choice, node: str | None = "addmm", hinted: str | None = None) -> Autotuning:
    timed = [c for c in choices if c.time_ms is not None]
    default = next((c for c in timed if c.backend == "extern"), None)
    return Autotuning(
        "addmm",
        ["512", f"{rows}x256", "256x512"],
        ["float32"] * 3,
        [],
        ["512", f"{hinted}x256", "256x512"] if hinted else [],
        timed[0].name,
        timed[0].backend,
        None,
        list(choices),
        len(choices),
        1,
        node=node,
        line=SourceLine("train.py", 7),
        default=default.name if default else None,
        default_ms=default.time_ms if default else None,
        failed_count=len(choices) - len(timed),
        emitted=timed[0].backend,
    )


def graph(compile_id: str, *autotune: Autotuning, **fields: object) -> Graph:
    row = Graph(0, compile_id, "step", "train.py", 5, 3, 10, False, 1.0, "p1")
    return Graph(**{**{f: getattr(row, f) for f in Graph.__slots__}, "autotune": list(autotune), **fields})


TRITON, LIBRARY = choice("triton_mm_3", 0.010), choice("addmm", 0.020)
SMALL = tuned("16", TRITON, LIBRARY)
LARGE = tuned("800", choice("addmm", 0.030), choice("triton_mm_3", 0.081))


def test_the_winner_by_size_and_where_it_changes() -> None:
    (site,) = tuned_sites([graph("0/1", LARGE), graph("0/0", SMALL)], [])
    assert [(r.label, r.winner, r.winner_ms, r.second, r.calls) for r in site.rows] == [
        ("16", "triton_mm_3", 0.010, "addmm", 10),
        ("800", "addmm", 0.030, "triton_mm_3", 10),
    ]
    assert (site.winner_changes, site.config_changes, site.rows_count) == (1, 1, 2)
    assert [row.winner_config for row in site.rows] == ["3", None]
    assert site.nodes == ["addmm"]
    assert site.lines == [SourceLine("train.py", 7)]


def test_layers_that_are_alike_are_one_site() -> None:
    again = tuned("16", Choice("triton_mm_23", "triton", 0.010, False, "3"), LIBRARY, node="addmm_1")
    (site,) = tuned_sites([graph("0/0", SMALL, again)], [])
    assert site.nodes == ["addmm", "addmm_1"]
    other = tuned("16", Choice("triton_mm_24", "triton", 0.009, False, "4"), LIBRARY, node="addmm_2")
    assert len(tuned_sites([graph("0/0", SMALL, other)], [])) == 2


def test_a_choice_timed_at_a_hint_far_from_the_sizes_used() -> None:
    dynamic = tuned("s0", TRITON, LIBRARY, hinted="16")
    seen = [SizeCount({"s0": 777}, 90), SizeCount({"s0": 20}, 10)]
    rows = [graph("0/0", dynamic, calls=100, sizes_seen=seen), graph("0/1", LARGE)]
    (site,) = tuned_sites(rows, [])
    small = site.rows[0]
    assert (small.label, small.timed_at[1], small.calls_far, small.far_share) == ("16", "16x256", 90, 0.9)
    assert [(u.sizes, u.calls, u.ratio) for u in small.uses] == [
        ({"s0": 777}, 90, pytest.approx(777 / 16, rel=1e-3)),
        ({"s0": 20}, 10, 1.25),
    ]
    assert (small.slowdown, small.slowdown_at) == (2.7, "800")
    # 800 is static and was timed at its own size
    assert site.rows[1].calls_far is None


def test_without_a_timing_near_the_size_there_is_no_slowdown() -> None:
    dynamic = tuned("s0", TRITON, LIBRARY, hinted="16")
    seen = [SizeCount({"s0": 100}, 1)]
    (site,) = tuned_sites([graph("0/0", dynamic, sizes_seen=seen), graph("0/1", LARGE)], [])
    assert (site.rows[0].calls_far, site.rows[0].slowdown) == (1, None)


def test_rungs_have_the_calls_they_served() -> None:
    rungs = [
        Bucket("0/0", {"tokens": 16}, "pin", hits=4, rung="16", process="p1"),
        Bucket("0/0", {"tokens": 800}, "pad", hits=9, rung="800", process="p1"),
        Bucket("0/0", {"tokens": 32}, "pin", refused="no", rung="32", process="p1"),
    ]
    (site,) = tuned_sites([graph("0/0", SMALL, LARGE, calls=13)], rungs)
    assert [(r.label, r.rung, r.calls) for r in site.rows] == [("16", "16", 4), ("800", "800", 9)]


def test_a_range_rung_is_timed_once_for_all_its_sizes() -> None:
    rung = Bucket("0/0", {"tokens": [2, 999]}, "range", hits=5, rung="2-999", process="p1")
    sizes = [BucketSize({"tokens": 777}, 5), BucketSize(None, 3)]
    rung = Bucket(**{**{f: getattr(rung, f) for f in Bucket.__slots__}, "sizes": sizes})
    dynamic = tuned("s0", TRITON, LIBRARY, hinted="16")
    (site,) = tuned_sites([graph("0/0", dynamic)], [rung])
    assert (site.rows[0].rung, site.rows[0].calls, site.rows[0].calls_far) == ("2-999", 5, 5)


def test_what_the_code_launches_can_be_slower_than_the_default() -> None:
    found = tuned("800", choice("addmm", 0.030), choice("triton_mm_3", 0.081))
    epilogue = Autotuning(**{**{f: getattr(found, f) for f in Autotuning.__slots__}, "emitted": "triton"})
    (site,) = tuned_sites([graph("0/0", epilogue)], [])
    assert (site.rows[0].slower_than_default, site.rows[0].emitted_ms) == (True, 0.081)
    (site,) = tuned_sites([graph("0/0", SMALL)], [])
    assert site.rows[0].slower_than_default is False


def test_failed_candidates_come_with_their_reason() -> None:
    failed = tuned("16", TRITON, choice("triton_mm_9", None, "out of resource: shared memory"))
    (site,) = tuned_sites([graph("0/0", failed)], [])
    assert (site.rows[0].candidates, site.rows[0].failed) == (2, 1)
    assert site.rows[0].failures == ["triton_mm_9: out of resource: shared memory"]


def test_an_imported_log_of_an_h200_has_a_table_by_size() -> None:
    report = build_report(open_recording(LOGS / "h200-torch211-maxautotune.log.zst"))
    changing, steady = report.tuned_sites
    labels = ["1", "16", "64", "256", "1024"]
    assert [row.label for row in changing.rows] == [row.label for row in steady.rows] == labels
    assert [row.winner_backend for row in changing.rows] == ["triton"] * 4 + ["extern"]
    assert {row.winner_backend for row in steady.rows} == {"triton"}
    assert (changing.winner_changes, steady.winner_changes) == (1, 0)


def test_the_finding_says_what_was_measured() -> None:
    report = build_report(open_recording(LOGS / "h200-torch211-maxautotune.log.zst"))
    assert not [f for f in advise(report) if f.rule == "autotuned_at_other_size"]
    dynamic = tuned("s0", TRITON, LIBRARY, hinted="16")
    rows = [graph("0/0", dynamic, calls=90, sizes_seen=[SizeCount({"s0": 777}, 90)]), graph("0/1", LARGE)]
    changed = type(report)(
        **{
            **{f: getattr(report, f) for f in type(report).__slots__},
            "graphs": rows,
            "tuned_sites": tuned_sites(rows, []),
        }
    )
    (found,) = [f for f in advise(changed) if f.rule == "autotuned_at_other_size"]
    assert found.cost["calls_far"].value == 90
    assert (found.cost["slowdown"].value, found.cost["slowdown"].basis) == (2.7, "measured")
    assert (found.severity, found.line) == ("medium", 5)
