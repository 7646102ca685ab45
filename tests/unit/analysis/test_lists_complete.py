"""Each list of the report is complete, or its object says how many entries more there are.

The same recording is told twice, with the lists as short as they get and with all of them whole.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from compilescope.analysis import Report, build_report, lengths
from compilescope.analysis.value_guard import got_value
from compilescope.recording import Writer, open_recording
from compilescope.views import html, text
from compilescope.views import json as json_view
from compilescope.views.tui.tables.kernels import KERNELS

CORPUS = Path(__file__).parents[3] / "fixtures" / "corpus"
RECORDINGS = sorted([*(CORPUS / "recordings").glob("*.zip"), *(CORPUS / "compiled").glob("*.zip")])
ALL = sorted(name for name in vars(lengths) if name.isupper())
# How many texts are read, not how long a list is: graphs and guards that were not read say so themselves.
READ = {"GRAPHS_READ", "GUARD_LISTS", "LOOKUPS"}
MANY = 700


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One graph with more of everything than a report lists."""
    root = tmp_path_factory.mktemp("huge") / "run.compilescope"
    writer = Writer(root, {"argv": ["train.py"]})
    c = (0, 0, 0, 0)
    writer.record("dynamo_start", {"m": {"stack": []}}, c=c)
    writer.record("graph", {"m": {"g": 0, "ops": MANY, "backend": "inductor"}}, c=c)
    guards = [[f"L['x{n}']", ["EQUALS_MATCH"], "LOCAL", []] for n in range(MANY)]
    writer.record("guards", {"m": {"count": MANY}}, c=c, payload=json.dumps(guards))
    writer.record("inductor_output_code", {"m": {"filename": "/tmp/c.py"}}, c=c, payload=_code())
    choices = [{"name": f"triton_mm_{n}", "ms": n + 1.0} for n in range(MANY)]
    m = {
        "name": "mm",
        "inputs": [],
        "choices": choices,
        "count": MANY + 5,
        "failures": [f"f{n}" for n in range(9)],
    }
    writer.record("autotune", {"m": m}, c=c)
    for number in range(2):
        parts = [f"[{'ab'[number]}{n:04}] part{n}: {'ab'[number] * 900}{n}" for n in range(MANY)]
        key = {"key": f"k{number}", "components": parts}
        m = {"name": "fx_graph_cache_miss", "encoding": "json"}
        writer.record("artifact", {"m": m}, c=c, payload=json.dumps(key))
    m = {"has_guarded_code": True, "co_name": "f", "co_filename": "/u/t.py", "co_firstlineno": 1}
    writer.record("compilation_metrics", {"m": m}, c=c)
    writer.close()
    return root


def _code() -> str:
    buffers = "\n".join(
        f"    buf{n} = empty_strided_cpu((64, 64), (64, 1), torch.float32)\n"
        f"    extern_kernels.mm(arg0_1, arg1_1, out=buf{n})\n"
        f"    torch.ops.mine.log{n}.default(buf{n})"
        for n in range(MANY)
    )
    results = ", ".join(f"buf{n}" for n in range(MANY))
    return (
        "# AOT ID: ['0_inference']\nimport torch\n\ndef call(args):\n    arg0_1, arg1_1 = args\n"
        f"    args.clear()\n{buffers}\n    return ({results}, )\n"
    )


def _told(path: Path, monkeypatch: pytest.MonkeyPatch, most: int | None) -> Report:
    with monkeypatch.context() as patch:
        for name in ALL:
            if most is not None and (name not in READ or most == sys.maxsize):
                patch.setattr(lengths, name, most)
        return build_report(open_recording(path))


def _lists(cut: Any, whole: Any, path: str = "report") -> Iterator[tuple[str, int, int]]:
    """(where, entries here and said to be missing, entries of the whole one) of every list of the report."""
    if isinstance(whole, list) and isinstance(cut, list):
        for number, (part, same) in enumerate(zip(cut, whole, strict=False)):
            yield from _lists(part, same, f"{path}[{number}]")
    elif is_dataclass(whole) and type(cut) is type(whole):
        for name in (field.name for field in fields(whole)):
            part, same = getattr(cut, name), getattr(whole, name)
            if isinstance(same, list) and isinstance(part, list):
                more, other = (getattr(each, "more", {}).get(name, 0) for each in (cut, whole))
                yield f"{path}.{name}", len(part) + more, len(same) + other
            yield from _lists(part, same, f"{path}.{name}")


def _check(cut: Report, whole: Report) -> int:
    found = list(_lists(cut, whole))
    assert [row for row in found if row[1] != row[2] and ".missing" not in row[0]] == []
    return len(found)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_lists_of_one_entry_say_how_many_more(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _check(_told(path, monkeypatch, 1), _told(path, monkeypatch, sys.maxsize)) > 20


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_recording_as_it_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _check(_told(path, monkeypatch, None), _told(path, monkeypatch, sys.maxsize)) > 20


def test_a_huge_graph_loses_nothing_silently(huge: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = _told(huge, monkeypatch, None)
    _check(report, _told(huge, monkeypatch, sys.maxsize))
    graph = json.loads(json_view.render(report))["graphs"][0]
    assert graph["more"]["kernel_rows"] == graph["kernel_count"] - lengths.KERNELS
    assert graph["memory"]["more"] == {"live_at_peak": graph["memory"]["live_count"] - lengths.BUFFERS}
    assert graph["guards"]["more"] == {"rows": MANY - lengths.GUARDS}
    assert graph["autotune"][0]["more"] == {"choices": MANY + 5 - lengths.CHOICES}
    assert report.cache_misses[1].more == {"changes": MANY - lengths.KEY_CHANGES}


def test_a_cut_text_says_how_much_is_gone(huge: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = _told(huge, monkeypatch, None)
    assert report.cache_misses[1].changes[0].before == "a" * 200 + "... (701 more characters)"


def test_a_value_of_which_the_recording_has_the_start_says_so() -> None:
    assert got_value({"t": "str", "v": "a" * 80, "len": 100}) == "a" * 80 + "... (20 more characters)"
    assert got_value({"t": "str", "v": "abc"}) == "abc"


def test_page_terminal_and_explorer_say_how_many_more(huge: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = _told(huge, monkeypatch, None)
    graph, memory = report.graphs[0], report.graphs[0].memory
    assert memory is not None
    page = html.render(report)
    assert f"and {memory.live_count - 8} more buffers live at the peak" in page
    assert f"and {graph.more['crossings'] + len(graph.crossings) - 8} more of these" in page
    told = text.render_details(report, text.Wanted(graphs=True))
    assert f"and {graph.more['kernel_rows']:,} more kernels" in told
    lists = dict(KERNELS.card(KERNELS.rows(report)[0]).groups())
    assert f"memory: {memory.more['live_at_peak']:,} more live at peak" in lists["not listed of the graph"]
