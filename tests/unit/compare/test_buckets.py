from __future__ import annotations

from compare_runs import frame, made

from compilescope.analysis.report import Bucket
from compilescope.compare import compare


def rung(size: int, kind: str = "pad", hits: int | None = 3, **fields) -> Bucket:
    where = {"file": "train.py", "line": 3, "function": "step", "process": "p"}
    return Bucket("0/0", {"s0": size}, kind, hits=hits, rung=str(size), **where, **fields)


def run(*rungs: Bucket):
    return made(frames=[frame()], buckets=list(rungs))


def changes(base, head):
    return {(row.rung, row.change, row.base, row.head) for row in compare(base, head).buckets}


def test_new_gone_and_served_in_another_way():
    base = run(rung(32), rung(64), rung(128))
    head = run(rung(32, "pin"), rung(64, refused="no entry"), rung(256))
    assert changes(base, head) == {
        ("32", "other", "pad", "pin"),
        ("64", "other", "pad", "pad, refused"),
        ("128", "gone", "pad", None),
        ("256", "new", None, "pad"),
    }


def test_hits_follow_from_the_traffic():
    diff = compare(run(rung(32, hits=3)), run(rung(32, hits=900)))
    assert diff.buckets == []


def test_what_is_no_rung_and_what_was_reset_is_left_out():
    assert (
        changes(run(rung(32)), run(rung(32), rung(7, "eager"), rung(9, "dynamic"), rung(5, live=False)))
        == set()
    )


def test_a_rung_that_does_not_know_its_place():
    lost = Bucket(None, {"s0": 8}, "pad", rung="8")
    (row,) = compare(run(), run(lost)).buckets
    assert (row.place.file, row.place.line) == ("?", None)
