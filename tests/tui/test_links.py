"""From a line of the source to the kernels made of it, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import builders
from explorer_driver import SOURCE, Driver, FakeCode, FakeSource, drive
from hypothesis import given
from hypothesis import strategies as st

from compilescope.analysis.report import Report, SourceLine
from compilescope.analysis.report_graph import KernelRow
from compilescope.model.documents import TITLES
from compilescope.views.tui import Document
from compilescope.views.tui._code_view import CodeView, with_found
from compilescope.views.tui._kernel_links import (
    GENERATED,
    kernel_at,
    kernels_of_line,
    lines_with_kernels,
    place_of,
)

CODE = """async_compile = AsyncCompile()
triton_poi_fused_1 = async_compile.triton('triton_poi_fused_1', '''
def triton_(in_ptr0):
    tl.load(in_ptr0)
''')
triton_poi_fused_10 = async_compile.triton('triton_poi_fused_10', '''
def triton_(in_ptr0):
    tl.store(in_ptr0)
''')
def call(args):
    triton_poi_fused_1.run(buf0)
    extern_kernels.mm(buf0, buf1)
    triton_poi_fused_10.run(buf1)
""".splitlines()


def kernel(name: str, lines: list[int], launches: int = 1) -> KernelRow:
    at = [SourceLine("train.py", line, "step", f"line {line}") for line in lines]
    return KernelRow(name, "triton", None, launches, ["add"], at, "cuda", [], [], None, {}, None, [], None)


def with_kernels() -> Report:
    report = builders.rich()
    kernels = [
        kernel("triton_poi_fused_1", [8, 9]),
        kernel("triton_poi_fused_10", [9], 3),
        kernel("extern_kernels.mm", [30]),
    ]
    graph = replace(
        report.graphs[0], compile_id="0/1", file="train.py", line=7, function="step", kernel_rows=kernels
    )
    frame = replace(report.frames[0], file="train.py", line=7, function="step", compile_ids=["0/1"])
    return replace(report, graphs=[graph], frames=[frame], findings=[], worst=[])


class Code(FakeCode):
    def documents(self, compile_id: str, process: str | None) -> Sequence[Document]:
        return [
            Document("Dynamo graph", "python", lambda: "graph"),
            Document("Inductor's code", "python", lambda: "\n".join(CODE)),
        ]


def test_a_line_knows_its_kernels_and_a_kernel_its_place() -> None:
    report = with_kernels()
    names = [link.kernel.name for link in kernels_of_line(report, "train.py", 9, None)]
    assert names == ["triton_poi_fused_10", "triton_poi_fused_1"]  # most launches first
    assert kernels_of_line(report, "other.py", 9, None) == []
    assert lines_with_kernels(report, "train.py") == [8, 9, 30]
    assert place_of(CODE, "triton_poi_fused_10") == 6
    assert place_of(CODE, "triton_poi_fused_2") is None
    for line, expected in (
        (1, None),
        (4, "fused_1"),
        (8, "fused_10"),
        (11, "fused_1"),
        (12, "mm"),
        (99, "10"),
    ):
        link = kernel_at(report, "0/1", None, CODE, line)
        assert (link is None) == (expected is None)
        assert link is None or link.kernel.name.endswith(expected or "")
    assert kernel_at(report, "7/7", None, CODE, 4) is None


def test_x_leads_from_the_source_to_each_kernel_and_back_to_its_lines() -> None:
    async def steps(screen: Driver) -> None:
        await screen.press("7", "tab", "g", *["j"] * 8)
        view = screen.app.screen.query_one(CodeView)
        assert (view.cursor, len(view.lines)) == (9, len(SOURCE.splitlines()))
        await screen.press("x")
        assert "triton_poi_fused_10 (2 of this line)" in screen.text
        assert view.lines[view.cursor - 1].startswith("triton_poi_fused_10 =")
        await screen.press("x")
        assert (view.cursor, len(view.lines)) == (9, len(SOURCE.splitlines()))
        await screen.press("x")  # the other kernel of the same line
        assert view.lines[view.cursor - 1].startswith("triton_poi_fused_1 =")
        await screen.press("x")
        assert view.cursor == 8
        await screen.press("x", "x")
        assert view.cursor == 9  # the next line of the same kernel
        await screen.press("G", "x")
        assert "no kernel was made of line 60; of these: 8, 9, 30" in screen.text

    drive(FakeSource(with_kernels(), Code()), steps)


def test_where_nothing_leads_on_it_is_said() -> None:
    async def steps(screen: Driver) -> None:
        await screen.press("7", "x")
        assert "no kernel was made of line 7" in screen.text
        await screen.press("j", "x")
        assert "lines lead to kernels in the source" in screen.text
        await screen.press("j", "tab", "g", "x")
        assert "no kernel is named here" in screen.text
        await screen.press("question_mark")
        assert "from a line to its kernels" in screen.text

    drive(FakeSource(with_kernels(), Code()), steps)


def test_what_was_searched_for_is_marked_where_it_stands() -> None:
    parts = (("keyword", "Return"), ("", " x + retURN"))
    assert with_found(parts, "return") == (("found", "Return"), ("", " x + "), ("found", "retURN"))
    assert with_found(parts, "n x") == (
        ("keyword", "Retur"),
        ("found", "n"),
        ("found", " x"),
        ("", " + retURN"),
    )
    assert with_found((("", "STRASSE ß"),), "ss") == (("", "STRASSE ß"),)  # ß folds to ss: places would move


@given(
    st.lists(st.tuples(st.sampled_from(["", "name"]), st.text(max_size=9)), max_size=5), st.text(min_size=1)
)
def test_marking_changes_no_text(parts: list[tuple[str, str]], needle: str) -> None:
    marked = with_found(parts, needle.casefold())
    assert "".join(text for _, text in marked) == "".join(text for _, text in parts)


def test_the_cursor_moves_through_a_long_text_and_stays_in_view() -> None:
    async def steps(screen: Driver) -> None:
        await screen.press("7", "tab", "g")
        view = screen.app.screen.query_one(CodeView)
        for keys, line in ((["j"] * 3, 4), (["k"], 3), (["G"], 60), (["j"], 60), (["g"], 1), (["k"], 1)):
            await screen.press(*keys)
            assert view.cursor == line
            assert 0 <= line - 1 - view.scroll_offset.y < view.size.height
        await screen.press("pagedown")
        assert view.cursor == view.scrollable_content_region.height
        await screen.pilot.click(CodeView, offset=(5, 3))
        assert view.cursor == round(view.scroll_offset.y) + 3

    drive(builders.history_grows(), steps, size=(80, 24))


def test_generated_code_is_known_by_the_title_that_recordings_give_it() -> None:
    assert TITLES["inductor_output_code"].startswith(GENERATED)
