"""Rows of a report with the fields a test does not care about filled in."""

from __future__ import annotations

from typing import Any

from compilescope.analysis.report import Failure, Frame, Graph, GraphBreak, LimitHit, Placeholder, Recompile

PROCESS = "pid1-aaaa"


def graph_break(cause: str = "print_in_compiled_region", **fields: Any) -> GraphBreak:
    row: dict[str, Any] = {
        "file": "train.py",
        "line": 5,
        "function": "forward",
        "code": "print(x.shape)",
        "causes": [cause],
        "gb_types": ["Failed to trace builtin operator"],
        "gb_ids": ["GB0059"],
        "reason": "print() cannot be compiled",
        "hint": None,
        "events": 1,
        "runtime_hits": 10,
        "resume": ["resumable"],
        "call_path": ["train.py:20 main", "train.py:5 forward"],
        "compile_ids": ["0/0"],
        "process": PROCESS,
    }
    return GraphBreak(**(row | fields))


def recompile(kind: str = "value", source: str = "n", **fields: Any) -> Recompile:
    row: dict[str, Any] = {
        "function": "forward",
        "file": "train.py",
        "line": 6,
        "kind": kind,
        "holder": "argument",
        "value_type": "int" if kind == "value" else None,
        "source": source,
        "changes": [(1, 2)],
        "count": 1,
        "blocked_by_limit": 0,
        "also_failed": [],
        "caused_by": None,
        "benign": False,
        "wasted_compile_s": 0.5,
        "compile_ids": ["0/1"],
        "called_from": "train.py:20 main",
        "process": PROCESS,
        "code": "return x * n",
    }
    return Recompile(**(row | fields))


def limit_hit(**fields: Any) -> LimitHit:
    row: dict[str, Any] = {
        "function": "forward",
        "file": "train.py",
        "line": 4,
        "limit": 8,
        "last_cause": None,
        "eager_calls": 40,
        "total_calls": 48,
        "process": PROCESS,
    }
    return LimitHit(**(row | fields))


def failure(**fields: Any) -> Failure:
    row: dict[str, Any] = {
        "exception": "Unsupported",
        "message": "Data-dependent branching: Detected data-dependent branching",
        "function": "forward",
        "file": "train.py",
        "line": 5,
        "suppressed": False,
        "phase": "dynamo",
        "compile_id": "0/0",
        "process": PROCESS,
    }
    return Failure(**(row | fields))


def frame(**fields: Any) -> Frame:
    row: dict[str, Any] = {
        "function": "forward",
        "file": "train.py",
        "line": 4,
        "compile_ids": ["0/0"],
        "graphs": 1,
        "ops": 10,
        "compiled_calls": 100,
        "eager_calls": 0,
        "compile_s": 1.0,
        "graph_breaks": 0,
        "recompiles": 0,
        "status": "compiled",
        "process": PROCESS,
    }
    return Frame(**(row | fields))


def graph(**fields: Any) -> Graph:
    row: dict[str, Any] = {
        "epoch": 0,
        "compile_id": "0/0",
        "function": "forward",
        "file": "train.py",
        "line": 4,
        "ops": 10,
        "calls": 100,
        "backward": False,
        "compile_s": 1.0,
        "process": PROCESS,
    }
    return Graph(**(row | fields))


def tensor(source: str, shape: list[int]) -> Placeholder:
    return Placeholder("p", "tensor", source, "float32", list(shape))
