"""Code on demand: what is packed, what is left out, whose row a text stands in."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field, replace

import builders
import pytest
from builder_facts import PROCESS
from hypothesis import given
from hypothesis import strategies as st

from compilescope.units import visible
from compilescope.views.html import render
from compilescope.views.html._code import Text, pack, unpack
from compilescope.views.html._shelf import Row
from compilescope.views.html._texts import arrange


@dataclass
class Recorded:
    """A document as the model gives it."""

    content: str | None
    kind: str = "dynamo_output_graph"
    compile_id: str = "0/0"
    code: str | None = None
    process: str = PROCESS
    epoch: int = 0
    title: str = "Dynamo graph"
    digest: str = ""
    reads: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.digest = self.digest or f"{self.kind} {self.content}"

    @property
    def size_bytes(self) -> int:
        return len((self.content or "").encode("utf-8", "replace"))

    def read(self) -> str | None:
        self.reads.append(self.digest)
        return self.content


def text(content: str | None, kind: str = "inductor_output_code") -> Text:
    return Text("title", kind, repr(content), len(content or ""), lambda: content)


def unpacked(texts: list[Text], blocks: list[str]) -> list[str | None]:
    parts = [unpack(block) for block in blocks]
    places = [text.at.split(".") if text.at else None for text in texts]
    return [parts[int(place[0])][int(place[1])] if place else None for place in places]


@given(st.lists(st.text(max_size=200), max_size=30))
def test_property_every_text_comes_back(contents) -> None:
    texts = [text(content) for content in contents]
    packed = pack(texts, 10**6)
    assert unpacked(texts, packed.blocks) == [visible(c.replace("\r\n", "\n"), keep="\n") for c in contents]
    assert (packed.texts, packed.left_out) == (len(set(contents)), 0)


def noise(size: int, seed: int = 0) -> str:
    return "".join(random.Random(seed).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=size))


@given(st.lists(st.integers(1, 60_000), max_size=12), st.integers(0, 200_000))
def test_property_no_more_than_the_room(sizes, room) -> None:
    texts = [text(f"{seed} {noise(size, seed)}") for seed, size in enumerate(sizes)]
    packed = pack(texts, room)
    assert sum(map(len, packed.blocks)) <= room
    assert packed.texts == sum(t.at is not None for t in texts)
    assert packed.left_out_bytes == sum(t.size_bytes for t in texts if t.at is None)


def test_what_people_ask_for_first_stays() -> None:
    kinds = ["aot_joint_graph", "dynamo_cpp_guards_str", "inductor_output_code", "source"]
    texts = [text(noise(40_000, seed), kind) for seed, kind in enumerate(kinds)]
    pack(texts, 75_000)
    assert [t.at is not None for t in texts] == [False, False, True, True]


def test_a_text_too_large_or_damaged_is_counted_as_such() -> None:
    texts = [text(None), text("x" * 2_100_000), text("fits")]
    packed = pack(texts, 10**6)
    assert (packed.texts, packed.left_out, packed.unreadable) == (1, 2, 1)


def test_equal_texts_are_read_and_kept_once() -> None:
    documents = [Recorded("same", compile_id=f"0/{n}") for n in range(3)]
    rows = [Row(f"r{n}", replace(builders.history_grows().graphs[0], compile_id=f"0/{n}")) for n in range(3)]
    texts = arrange(rows, documents, {})
    assert texts.pack(10**6).texts == 1
    assert {t.at for each in texts.of_row.values() for t in each} == {"0.0"}
    assert sum(len(document.reads) for document in documents) == 1


def test_a_text_stands_with_the_graph_it_is_of() -> None:
    graph = replace(builders.history_grows().graphs[0], code="cfwd")
    rows = [Row("fwd", graph), Row("bwd", replace(graph, backward=True, code="cbwd"))]
    documents = [
        Recorded("d"),
        Recorded("b", "aot_backward_graph"),
        Recorded("c", "inductor_output_code", code="cbwd"),
        Recorded("u", "inductor_output_code", code="unknown"),
        Recorded("s", compile_id="7/0"),
    ]
    texts = arrange(rows, documents, {"a.py": "x = 1"})
    texts.pack(10**6)
    assert [t.read() for t in texts.of_row["fwd"]] == ["d", "u"]
    assert [t.read() for t in texts.of_row["bwd"]] == ["b", "c"]
    assert [(s.compile_id, [t.read() for t in s.texts]) for s in texts.strays] == [("7/0", ["s"])]


def test_the_page_offers_them_and_says_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compilescope.views.html._render.CODE_BYTES", 3_000)
    documents = [Recorded("def f():\n    return 1\n"), Recorded(noise(9_000), compile_id="0/1")]
    page = render(builders.rich(), documents=documents, sources={"train.py": "import torch\n"})
    assert re.search(r'<button type="button" class="js-only" data-text="\d+.\d+">Dynamo graph</button>', page)
    assert 'id="source-train-py"' in page
    assert "1 text of 9.0 kB had no room" in page
    assert "Dynamo graph: left out, 9.0 kB" in page
    assert "compilescope tui REC" in page


def test_the_end_of_a_script_cannot_stand_in_a_block() -> None:
    page = render(builders.rich(), documents=[Recorded(attack) for attack in builders.ATTACKS])
    blocks = re.findall(r'<script type="application/octet-stream" id="block-\d+">([^<]*)</script>', page)
    assert len(blocks) == 1
    assert re.fullmatch(r"[A-Za-z0-9+/]+=*", blocks[0])
    assert all("\u202e" not in part and "\x1b" not in part for part in unpack(blocks[0]))
