"""A redacted report keeps no word of the program it is of, and stays a report."""

from __future__ import annotations

import json
import keyword
import re
from dataclasses import asdict, is_dataclass, replace
from pathlib import Path

import builders
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compilescope.advice import examine
from compilescope.advice.details import sources_of
from compilescope.analysis._redact_words import HIDDEN, Placeholders, is_public, public_words
from compilescope.analysis.redact import _KEPT, _PHASES, redact
from compilescope.analysis.report import GuardChange
from compilescope.analysis.worst import detail
from compilescope.model import load
from compilescope.recording import open_recording

RECORDINGS = sorted((Path(__file__).parents[3] / "fixtures" / "corpus" / "recordings").glob("*.zip"))
KEPT = _KEPT | _PHASES
UNIT = re.compile(r"[^\W\d]\w*")


def said(report: object) -> str:
    plain = asdict(report) if is_dataclass(report) and not isinstance(report, type) else report
    return json.dumps(plain, default=lambda row: asdict(row))


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_no_word_of_the_program_remains(recording: Path) -> None:
    run = load(open_recording(recording))
    report, _ = examine(run)
    text = said(redact(report))
    sources = sources_of(run)
    words = {unit for source in sources.values() for unit in UNIT.findall(source)}
    paths = {*sources, recording.name, str(run.launch.get("cwd")), str(run.launch.get("host"))}
    paths |= {text for p in run.processes for text in (p.cwd or "", *p.argv[1:])}
    private = {word for word in words if not is_public(word) and len(word) > 1}

    assert private.isdisjoint(UNIT.findall(text)), private & set(UNIT.findall(text))
    assert not [path for path in paths if len(path) > 4 and path in text]
    for line in (line.strip() for source in sources.values() for line in source.splitlines()):
        assert len(line) < 12 or line not in text


WORD = st.from_regex(r"\A(?:[a-z]{2,6}_)?zq[a-z0-9]{6,12}\Z")


def _free(value: object) -> object:
    """Without fields whose words are torch's or ours in a real report: the builder attacks there too."""
    if isinstance(value, dict):
        return {k: _free(v) for k, v in value.items() if k not in KEPT}
    return [_free(item) for item in value] if isinstance(value, list | tuple) else value


@settings(max_examples=40, deadline=None)
@given(
    st.lists(WORD, min_size=3, max_size=8, unique=True),
    st.sampled_from(["{}", "{}/{}.py", "'{}' is {}", "{}.{}()"]),
)
def test_property_whatever_stands_anywhere_is_replaced(words: list[str], shape: str) -> None:
    turn = iter(range(10**9))

    def attack() -> str:
        return shape.format(*(words[next(turn) % len(words)] for _ in range(2)))

    text = json.dumps(_free(asdict(redact(builders.poison(builders.rich(), attack)))), default=str)
    assert not [word for word in words if word in text]


def test_a_string_of_the_program_is_hidden_though_its_word_is_public() -> None:
    changes = [("eval", "train"), ("train", "eval")]
    rich = builders.rich()
    row = replace(
        rich.recompiles[0], value_type="str", source="mode", changes=changes, blocked_changes=changes
    )
    blamed = GuardChange("mode", "eval", "train", "value")
    row = replace(row, also_failed=[blamed], also_changed=[blamed])
    hit = replace(rich.limit_hits[0], last_cause=blamed)
    worst = [replace(rich.worst[0], detail=detail(row))]
    given = replace(rich, recompiles=[row], limit_hits=[hit], worst=worst)
    hidden = redact(given)
    told = said([hidden.recompiles, hidden.limit_hits, hidden.worst[0].detail])
    assert "eval" not in told
    assert 'train"' not in told
    assert "-> 'text" in str(hidden.worst[0].detail)


def test_equal_words_have_equal_placeholders_and_bytes_are_the_same() -> None:
    first, second = redact(builders.rich()), redact(builders.rich())
    assert first == second
    assert first.redacted
    files = {b.file for b in builders.rich().graph_breaks}
    assert len({b.file for b in first.graph_breaks}) == len(files)
    assert all(re.fullmatch(r"file\d+(\.py)?", b.file) for b in first.graph_breaks)
    assert {b.code for b in first.graph_breaks} <= {HIDDEN, None}


def test_counts_and_sizes_stay() -> None:
    before, after = builders.rich(), redact(builders.rich())
    assert after.totals == before.totals
    assert [f.compile_s for f in after.frames] == [f.compile_s for f in before.frames]
    assert [(g.compile_id, g.calls) for g in after.graphs] == [(g.compile_id, g.calls) for g in before.graphs]
    assert after.recording.versions == before.recording.versions


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("the list changed 3 times", "the list changed 3 times"),
        (
            "tensor 'acme' size mismatch at index 0. expected 8",
            "tensor 'text1' size mismatch at index 0. expected 8",
        ),
        ("torch's own warning blames len(acme_stats)", "torch's own warning blames len(name1)"),
        ("L['acme'].weight", "L['text1'].weight"),
        ("triton_poi_fused_add_relu_0", "triton_poi_fused_add_relu_0"),
        ("triton_poi_fused_acmecorp_0", "name1"),
        ("s77 > 5", "s77 > 5"),
        ("/home/user/модель.py:3 forward", "file1.py:3 forward"),
        ("transformers/utils/generic.py, in ~/data", "file1.py, in file2"),
        ("[0/1] and/or https://docs.pytorch.org/x", "[0/1] and/or https://docs.pytorch.org/name1"),
        ("'float32' and \"acme\"", "'float32' and \"text1\""),
    ],
)
def test_texts(text: str, redacted: str) -> None:
    assert Placeholders().text(text) == redacted


def test_public_words_hold_python_and_torch_and_our_sentences() -> None:
    words = public_words()
    assert set(keyword.kwlist) <= words
    assert all(map(is_public, ("addmm", "relu", "Tensor", "Linear", "recompile", "mark_dynamic")))
    assert not {"acme", "fauxlib", "hunter2"} & words
