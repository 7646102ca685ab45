"""What a person reads first about some of the corpus: titles, chains of values, costs and notes."""

from __future__ import annotations

from corpus_live import CORPUS

from compilescope.analysis import Report, build_report
from compilescope.recording import open_recording


def _report(name: str) -> Report:
    return build_report(open_recording(CORPUS / "recordings" / f"{name}.zip"))


def test_the_real_cause_stands_above_the_one_torch_blames() -> None:
    report = _report("24_history_grows")
    first, second = report.worst
    assert first.title == "attend() recompiles because a list grows"
    assert (first.file, first.line, first.code) == ("24_history_grows.py", 8, "for h in history:")
    assert first.detail == "len(history) 0 -> 1 -> ... -> 8"
    assert first.cost is not None
    assert first.cost.endswith("in 7 recompiles (measured), 4 eager calls, and later calls that fit no graph")
    assert first.note == (
        "torch's own warning blames len(stats): it changed twice, len(history) 8 times; "
        "fixing len(stats) alone will not help"
    )
    assert first.called_from == "24_history_grows.py:19 main"
    assert (second.title, second.detail) == (
        "same function, second cause: a dict grows",
        "len(stats) 0 -> 1 -> 2",
    )
    assert report.verdict.sentences[1:] == [
        "attend() hit the recompile limit: 4 of its 12 calls ran WITHOUT torch.compile.",
        "It did not settle: every call differed.",
    ]
    assert report.verdict.settled is False


def test_what_a_break_causes_stands_under_the_break() -> None:
    report = _report("02_item_and_tensor_branch")
    assert [row.kind for row in report.worst] == ["graph_break", "graph_break"]
    item = next(row for row in report.worst if row.line == 14)
    assert item.cost is not None
    assert item.cost.startswith("ran 6 times (counted), 1 recompile because of it")


def test_both_of_two_causes_that_move_together_are_shown() -> None:
    rows = {row.detail: row.note for row in _report("12_kv_cache_growth").worst}
    assert rows["t 0 -> 1"] == "changed with it: cache"
    assert rows["cache None -> tuple"] == "changed with it: t"


def test_stride_numbers_have_a_name() -> None:
    (row,) = _report("18_memory_format_change").worst
    assert row.detail == "args[0] stride dim 1 256 -> 1 (contiguous -> channels_last)"


def test_the_hot_break_comes_first() -> None:
    lines = [(row.line, row.cost) for row in _report("25_hot_loop_break").worst]
    assert lines == [(13, "ran 200 times (counted)"), (21, "ran 5 times (counted)")]


def test_a_break_inside_torch_comes_last_and_is_called_that() -> None:
    row = _report("23_compiled_optimizer_lr").worst[-1]
    assert row.file == "torch/optim/optimizer.py"
    assert row.note == "inside a library, not your code"


def test_what_happens_once_and_is_right_says_so() -> None:
    (row,) = _report("15_train_eval_toggle").worst
    assert row.note == "happens once, then both versions are kept: nothing to do"
