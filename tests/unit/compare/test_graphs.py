from __future__ import annotations

from compare_runs import frame, graph, made

from compilescope.analysis.report import ProcessInfo
from compilescope.compare import compare
from compilescope.compare.graphs import paired, units
from compilescope.compare.places import Places

ONE = made(frames=[frame()], graphs=[graph()])
SPLIT = made(
    frames=[frame(ids=("0/0",)), frame(5, 5, ids=("1/0",))],
    graphs=[graph("0/0", ops=1), graph("1/0", 5, ops=3)],
)


def process(rank: int) -> ProcessInfo:
    return ProcessInfo(f"p{rank}", 100 + rank, rank, 2, "2.13.0", "3.11", "CPU")


def test_a_graph_that_splits_and_merges():
    (change,) = compare(ONE, SPLIT).functions
    assert change.change == "split"
    assert (change.base.parts, change.head.parts) == (1, 2)
    assert change.head.ops == [1, 3]
    assert compare(SPLIT, ONE).functions[0].change == "merged"


def test_more_variants_of_one_part():
    more = made(frames=[frame(ids=("0/0", "0/1"))], graphs=[graph(), graph("0/1", sizes=(9, 16))])
    assert compare(ONE, more).functions[0].change == "more graphs"
    assert compare(more, ONE).functions[0].change == "fewer graphs"


def test_other_ops_and_a_new_function():
    assert compare(ONE, made(frames=[frame()], graphs=[graph(ops=5)])).functions[0].change == "other ops"
    assert compare(made(), ONE).functions[0].change == "new"
    assert compare(ONE, made()).functions[0].change == "gone"


def test_runs_of_different_programs_are_suspected():
    other = made(frames=[frame(function="other")], graphs=[graph(function="other")])
    assert compare(ONE, other).conditions[-1].startswith("no compiled function is in both")
    for head in (ONE, SPLIT, made()):
        assert not any("different programs" in text for text in compare(ONE, head).conditions)


def test_lines_and_compile_ids_do_not_matter():
    moved = made(frames=[frame(40, ids=("7/3",))], graphs=[graph("7/3", 40)])
    assert compare(ONE, moved).differs is False
    later = made(
        frames=[frame(40, ids=("4/0",)), frame(77, 77, ids=("9/0",))],
        graphs=[graph("9/0", 77, ops=3), graph("4/0", 40, ops=1)],
    )
    assert compare(SPLIT, later).differs is False


def test_methods_of_one_name_are_told_apart_by_their_class():
    text = "class A:\n    def step(self): ...\n\nclass B:\n    def step(self): ...\n"
    base = made(sources={"train.py": text}, frames=[frame(2)], graphs=[graph(line=2)])
    head = made(sources={"train.py": text}, frames=[frame(5)], graphs=[graph(line=5)])
    changes = {row.place.function: row.change for row in compare(base, head).functions}
    assert changes == {"A.step": "gone", "B.step": "new"}


def test_the_most_alike_graphs_are_paired():
    base = made(frames=[frame()], graphs=[graph("0/0", sizes=(8, 16)), graph("0/1", sizes=("s7", 16))])
    head = made(frames=[frame()], graphs=[graph("0/0", sizes=("s3", 16)), graph("0/1", sizes=(8, 16))])
    found = paired(units(base, Places(base, {}), {-1}), units(head, Places(head, {}), {-1}))
    assert [(p.base.forward.compile_id, p.head.forward.compile_id) for p in found.pairs] == [
        ("0/0", "0/1"),
        ("0/1", "0/0"),
    ]
    assert found.left == ([], [])


def test_a_backward_graph_belongs_to_the_forward_before_it():
    run = made(graphs=[graph(), graph(backward=True), graph("0/1")])
    found = units(run, Places(run, {}), {-1})
    assert [len(unit.backward) for unit in found] == [1, 0]


def test_a_change_of_every_rank_is_said_once():
    ranks = [process(0), process(1)]
    frames = [frame(process=p.id) for p in ranks]
    base = made(processes=ranks, frames=frames, graphs=[graph(process=p.id) for p in ranks])
    head = made(processes=ranks, frames=frames, graphs=[graph(process=p.id, ops=9) for p in ranks])
    (change,) = compare(base, head).functions
    assert change.place.ranks == [0, 1]
    only = made(processes=ranks, frames=frames, graphs=[graph(process="p0"), graph(process="p1", ops=9)])
    assert compare(base, only).functions[0].place.ranks == [1]


def test_a_job_of_another_size_is_compared_as_far_as_it_is_the_same():
    def job(size: int):
        ranks = [process(n) for n in range(size)]
        return made(
            processes=ranks,
            frames=[frame(process=p.id) for p in ranks],
            graphs=[graph(process=p.id) for p in ranks],
        )

    diff = compare(job(2), job(4))
    assert diff.functions == []
    assert "only HEAD has 2 ranks more (2 to 3): not compared" in diff.conditions
    assert "only BASE has 2 ranks more (2 to 3): not compared" in compare(job(4), job(2)).conditions
