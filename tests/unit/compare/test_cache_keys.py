from __future__ import annotations

import json
from dataclasses import replace

import pytest
from compare_runs import frame, graph, made

from compilescope.compare import compare
from compilescope.compare.run import CompileLookup
from compilescope.model import CompileId
from compilescope.model.inductor import Lookup

COMPONENTS = ["[aa] gm: graph()", "[bb] inductor_config[max_autotune]: False"]


def lookup(outcome="miss", key: str | None = "k1", components=COMPONENTS, cache="fx_graph", **more):
    payload = {"key": key, "components": components, **more}
    name = f"{cache}_cache_{outcome}".replace("aot_autograd", "aotautograd")
    found = Lookup((-1, 0, 0, 0), name, lambda: json.dumps(payload))
    return CompileLookup("p", CompileId(0, 0, 0), found)


def run(*lookups, backward=False):
    graphs = [graph(direction="forward"), *([graph(backward=True)] if backward else [])]
    return replace(made(frames=[frame()], graphs=graphs), lookups=lookups)


def rows(base, head):
    return compare(base, head).cache_keys


def test_the_same_key():
    (row,) = rows(run(lookup()), run(lookup("hit")))
    assert (row.status, row.base_outcome, row.head_outcome, row.changes) == ("same", "miss", "hit", [])
    assert (row.cache, row.compile_id, row.direction) == ("fx_graph", "0/0", "forward")


def test_the_same_key_that_was_missed_all_the_same():
    (row,) = rows(run(lookup("hit")), run(lookup("miss")))
    assert (row.status, row.changes) == ("same", [])
    assert row.reason.startswith("the key is the same: the entry was not there")


def test_the_component_that_changed_old_and_new():
    other = [COMPONENTS[0], "[cc] inductor_config[max_autotune]: True"]
    diff = compare(run(lookup()), run(lookup(key="k2", components=other)))
    (row,) = diff.cache_keys
    assert row.status == "changed"
    assert [(c.path, c.before, c.after) for c in row.changes] == [
        ("inductor_config[max_autotune]", "False", "True")
    ]
    assert diff.verdict[-1] == "Also other: 1 cache key."


@pytest.mark.parametrize(
    ("base", "head", "reason"),
    [
        (
            run(lookup()),
            run(lookup("bypass", key=None, cache_bypass_reason="a custom pass")),
            "HEAD bypassed the cache: a custom pass",
        ),
        (run(lookup("bypass")), run(lookup()), "BASE bypassed the cache: no reason given"),
        (run(lookup(key=None)), run(lookup()), "BASE recorded no key"),
        (run(lookup()), run(), "HEAD did not ask this cache for the graph"),
        (replace(made(), lookups=(lookup(),)), run(lookup()), "BASE has no such graph"),
        (run(lookup()), replace(made(), lookups=(lookup(),)), "HEAD has no such graph"),
    ],
)
def test_why_it_cannot_be_said(base, head, reason):
    (row,) = rows(base, head)
    assert (row.status, row.reason, row.changes) == ("unknown", reason, [])


def test_keys_that_differ_without_a_list_of_their_parts():
    (row,) = rows(run(lookup(components=None)), run(lookup(key="k2")))
    assert row.status == "changed"
    assert row.reason == "the keys differ; BASE recorded no list of what is in the key"
    (row,) = rows(run(lookup()), run(lookup(key="k2")))
    assert row.reason == "the keys differ, and no listed component does"


def test_the_second_look_up_is_the_backward_graphs():
    base = run(lookup(), lookup(key="b1"), backward=True)
    head = run(lookup(), lookup(key="b2"), backward=True)
    assert [(row.direction, row.status) for row in rows(base, head)] == [
        ("forward", "same"),
        ("backward", "changed"),
    ]


def test_each_cache_by_itself():
    base = run(lookup(), lookup(cache="aot_autograd", key="a1"))
    head = run(lookup(cache="aot_autograd", key="a1"), lookup(key="k2"))
    assert {row.cache: row.status for row in rows(base, head)} == {
        "aot_autograd": "same",
        "fx_graph": "changed",
    }


def test_a_run_with_thousands_of_look_ups_is_read_in_part(monkeypatch):
    monkeypatch.setattr("compilescope.compare.cache_keys.MAX_READ", 2)
    many = run(*(lookup(key=str(n)) for n in range(5)))
    diff = compare(many, many)
    assert len(diff.cache_keys) == 2
    assert diff.not_compared[-1].fact == "cache keys"
    assert diff.not_compared[-1].reason.startswith("6 look-ups")
