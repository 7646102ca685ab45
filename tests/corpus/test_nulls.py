"""Every null of a report says nothing on purpose, or has its reason in a list ``missing`` near it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from corpus_live import CORPUS, programs

from compilescope.analysis import Report, build_report
from compilescope.recording import open_recording

# Null because there is nothing to tell: no rank outside of a distributed run, no hint of a static size.
NOTHING_TO_TELL = {
    "Aot": "backward_ops donated forward_ops inference_ops joint_ops saved_bytes_expr",
    "Bucket": (
        "bypassed cache compile_s copied_bytes cuda_graph_skip cuda_graphs failed graphs_each guard hits "
        "kernels padded_rows padded_share pool_bytes refused replay_bytes same_code_as split_from "
        "user_line verified"
    ),
    "CacheMiss": "compared_with",
    "CacheOutcome": "reason saved_s",
    "Diagnosis": "process",
    "Frame": "called_from resumed_at",
    "FrameSizes": "unseen_share",
    "Fusion": "bytes_after_expr unfused_missing",
    "Graph": "backward_compiled",
    "GuardChange": "new old",
    "Guards": "rows_count",
    "KernelRow": "bytes_moved_expr grid library template",
    "Ladder": "compile_s pays pays_from_calls",
    "LadderRival": "compile_s",
    "Memory": "peak_after peak_bytes_expr",
    "Placeholder": "device dtype expr hint range shape stride",
    "ProcessInfo": "rank world_size",
    "Recompile": "called_from caused_by holder meaning thread value_type",
    "SourceLine": "code function",
    "Symbol": "hint",
    "Worst": "called_from code cost detail file fix function line note",
}


def recordings() -> list[Path]:
    return [CORPUS / "recordings" / f"{name}.zip" for name in programs()] + sorted(
        CORPUS.glob("compiled/*.zip")
    )


@cache
def report_of(path: Path) -> Report:
    return build_report(open_recording(path))


@pytest.mark.parametrize("path", recordings(), ids=lambda path: path.stem)
def test_a_null_has_its_reason(path: Path) -> None:
    bare = {
        f"{name}.{leaf}"
        for name, leaf, facts in nulls(report_of(path), frozenset())
        if leaf not in NOTHING_TO_TELL.get(name, "").split() and not any(_is_about(f, leaf) for f in facts)
    }
    assert bare == set()


@pytest.mark.parametrize("path", recordings(), ids=lambda path: path.stem)
def test_no_reason_without_a_null(path: Path) -> None:
    for graph in report_of(path).graphs:
        for fact in graph.missing:
            if fact.fact.replace(".", "").replace("_", "").isalpha():
                assert None in list(at(graph, fact.fact.split("."))), (graph.compile_id, fact)


def nulls(value: object, facts: frozenset[str]) -> Iterator[tuple[str, str, frozenset[str]]]:
    """``(class, field, facts that some list around it names as missing)`` of every null."""
    if isinstance(value, list):
        for item in value:
            yield from nulls(item, facts)
    elif dataclasses.is_dataclass(value):
        facts |= {fact.fact for fact in getattr(value, "missing", ())}
        for field in dataclasses.fields(value):
            item = getattr(value, field.name)
            if item is None:
                yield type(value).__name__, field.name, facts
            else:
                yield from nulls(item, facts)


def at(value: object, path: list[str]) -> Iterator[object]:
    if isinstance(value, list):
        for item in value:
            yield from at(item, path)
    elif path and value is not None:
        yield from at(getattr(value, path[0]), path[1:])
    else:
        yield value


def _is_about(fact: str, field: str) -> bool:
    return field in fact.replace(".", " ").split() or fact == field
