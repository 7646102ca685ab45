from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from compilescope.ladder.planner import Traffic, TrafficError, load_traffic


def written(folder: Path, text: str) -> Path:
    path = folder / "traffic.json"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    return path


def test_an_object_and_a_bare_list_are_read_alike(tmp_path: Path) -> None:
    named = load_traffic(written(tmp_path, '{"name": "chat", "note": "n", "sizes": [3, 1, 3]}'))
    assert (named.label, named.note, named.names, named.calls) == ("chat", "n", ("size",), 3)
    bare = load_traffic(written(tmp_path, "[3, 1, 3]"))
    assert bare.sizes.tolist() == named.sizes.tolist() == [[3], [1], [3]]


def test_joint_sizes_keep_their_symbols(tmp_path: Path) -> None:
    text = json.dumps({"sizes": [[8, 1], [2, 230]], "symbols": ["batch", "length"], "counts": [5, 1]})
    traffic = load_traffic(written(tmp_path, text))
    assert traffic.names == ("batch", "length")
    assert traffic.column("length").tolist() == [1, 230]
    assert traffic.calls == 6
    assert traffic.only(["length"]).sizes.tolist() == [[1], [230]]
    with pytest.raises(TrafficError, match="no symbol 'width'"):
        traffic.only(["width"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[1, 2", "not JSON"),
        ("7", "must be an object"),
        ("{}", "no key 'sizes'"),
        ('{"sizes": []}', "with something in it"),
        ('{"sizes": {"a": 1}}', "must be a list"),
        ('{"sizes": [1, 2.0]}', r"sizes\[1\] must be a whole number"),
        ('{"sizes": [1, true]}', r"sizes\[1\]"),
        ('{"sizes": [1, "<script>"]}', r"sizes\[1\]"),
        ('{"sizes": [1, 0]}', r"sizes\[1\]"),
        ('{"sizes": [1, -4]}', r"sizes\[1\]"),
        ('{"sizes": [1, NaN]}', "NaN is not a number"),
        ('{"sizes": [99999999999]}', "must lie in 1..2147483647"),
        ('{"sizes": [' + "9" * 30 + "]}", r"sizes\[0\]"),
        ('{"sizes": [' + "9" * 9000 + "]}", "not JSON"),
        ('{"sizes": [[1, 2], [3]]}', r"sizes\[1\] must be a list of 2"),
        ('{"sizes": [[1, 2], 3]}', r"sizes\[1\] must be a list of 2"),
        ('{"sizes": [[]]}', "a row has 1 to 16"),
        ('{"sizes": [1], "sizes": [2]}', "more than once"),
        ('{"sizes": [1], "size": 2}', "unknown key 'size'"),
        ('{"sizes": [1], "counts": [0]}', r"counts\[0\]"),
        ('{"sizes": [1], "counts": [1, 2]}', "as many counts"),
        ('{"sizes": [1], "ordered": 1}', "true or false"),
        ('{"sizes": [1], "name": 3}', "name must be text"),
        ('{"sizes": [1], "unseen": -1}', "unseen must be"),
        ('{"sizes": [[1, 2]], "symbols": ["a"]}', "symbols must be a list of 2"),
        ('{"sizes": [[1, 2]], "symbols": ["a", "a"]}', "as many different names"),
        ("[" * 200_000, "nested too deeply"),
    ],
)
def test_what_is_not_traffic_is_named(tmp_path: Path, text: str, words: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(TrafficError, match=words) as raised:
        load_traffic(path)
    assert str(path) in raised.value.message
    assert len(raised.value.message) < len(str(path)) + 200


def test_bytes_that_are_no_text_and_files_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "binary.json"
    path.write_bytes(b'{"sizes": [1], "name": "\xff"}')
    with pytest.raises(TrafficError, match="not UTF-8 at byte"):
        load_traffic(path)
    with pytest.raises(TrafficError, match="No such file"):
        load_traffic(tmp_path / "absent.json")
    with pytest.raises(TrafficError, match="Is a directory"):
        load_traffic(tmp_path)


def test_hostile_values_reach_no_terminal(tmp_path: Path) -> None:
    with pytest.raises(TrafficError) as raised:
        load_traffic(written(tmp_path, '{"sizes": [1], "\\u001b[2J\\u202e": 2}'))
    assert raised.value.message.isascii()
    assert "\x1b" not in raised.value.message


def test_halves_in_time_split_a_row_that_straddles() -> None:
    early, late = Traffic.of([5, 6, 7], counts=[3, 4, 3]).halves()
    assert early.distinct()[0].ravel().tolist() == [5, 6]
    assert early.counts.tolist() == [3, 2]
    assert late.counts.tolist() == [2, 3]


def test_halves_of_unordered_calls_are_the_same_each_time() -> None:
    traffic = Traffic.of([5, 6, 7], counts=[300, 400, 301], ordered=False)
    halves = [tuple(half.counts.tolist() for half in traffic.halves()) for _ in range(2)]
    assert halves[0] == halves[1]
    assert np.add(*halves[0]).tolist() == [300, 400, 301]
    assert sum(halves[0][0]) == 500


def test_one_call_has_no_halves() -> None:
    with pytest.raises(TrafficError, match="one call"):
        Traffic.of([5]).halves()


@pytest.mark.parametrize("sizes", [[], [1.5], [True, False], ["a"], [[1, 2], [3]], [0], [-1], [2**40]])
def test_values_that_are_no_sizes_are_refused(sizes: list[object]) -> None:
    with pytest.raises(TrafficError):
        Traffic.of(sizes)


def test_the_unseen_share_counts_all_calls() -> None:
    assert Traffic.of([1], counts=[3], unseen=1).unseen_share == 0.25
    assert Traffic.of([1], unseen=None).unseen_share is None
