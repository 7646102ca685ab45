"""Lists that are cut for length: the report says exactly how many entries more there are."""

from __future__ import annotations

import json

import pytest

from compilescope.analysis import Report, build_report
from compilescope.recording import Writer, open_recording

GRAPHS, LOOKUPS, GUARDS, WARNINGS = 207, 45, 310, 203


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    root = tmp_path_factory.mktemp("long") / "run.compilescope"
    writer = Writer(root, {"argv": ["train.py"]})
    guards = [[f"L['x{n}']", ["EQUALS_MATCH"], "LOCAL", []] for n in range(GUARDS)]
    for frame in range(GRAPHS):
        c = (frame, 0, 0, 0)
        writer.record("dynamo_start", {"m": {"stack": []}}, c=c)
        writer.record("graph", {"m": {"g": frame, "ops": 1, "backend": "inductor"}}, c=c)
        listed = guards if frame == 0 else guards[:1]
        writer.record("guards", {"m": {"count": len(listed)}}, c=c, payload=json.dumps(listed))
        m = {"has_guarded_code": True, "co_name": "f", "co_filename": "/u/t.py", "co_firstlineno": frame}
        writer.record("compilation_metrics", {"m": m}, c=c)
    for number in range(LOOKUPS):
        m = {"name": "fx_graph_cache_miss", "encoding": "json"}
        writer.record("artifact", {"m": m}, c=(number, 0, 0, 0), payload=json.dumps({"key": f"k{number}"}))
    for number in range(WARNINGS):
        writer.record("log", {"m": {"logger": "torch", "level": "WARNING", "text": str(number)}})
    writer.close()
    return build_report(open_recording(root))


def test_every_cut_list_says_how_much_is_left(report: Report) -> None:
    more = {fact.fact for fact in report.missing if " more " in fact.fact}
    assert more == {
        f"{GRAPHS - 200} more lists of guards",
        f"{GUARDS - 300} more guards in long lists",
        f"{GRAPHS - 200} more graphs with kernels, fusion and memory",
        f"{LOOKUPS - 40} more cache misses with the part of the key that differs",
        f"{WARNINGS - 200} more warnings",
    }


def test_the_lists_are_as_long_as_they_say(report: Report) -> None:
    first, *_, last = report.graphs
    assert first.guards is not None
    assert (len(first.guards.rows), first.guards.rows_count, first.guards.count) == (300, GUARDS, GUARDS)
    assert last.guards is not None
    assert (last.guards.rows, last.guards.rows_count, last.guards.count) == ([], None, 1)
    assert len(report.cache_misses) == 40
