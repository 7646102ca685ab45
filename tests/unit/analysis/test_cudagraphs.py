"""CUDA graphs in the report, from records as a GPU run writes them."""

from __future__ import annotations

from pathlib import Path

from compilescope.analysis import Report, build_report
from compilescope.recording import Writer, open_recording

SKIP = (
    "skipping cudagraphs due to mutated inputs (1 instances). Found from : \n"
    '   File "/home/user/train.py", line 9, in f\n    x.add_(1)\n'
)


CODE = "def call(args):\n    return ()\n"


def recorded(root: Path) -> Report:
    writer = Writer(root, {"argv": ["python", "train.py"], "cwd": "/home/user"})
    file = writer.file_id("/home/user/train.py")
    stack = [{"line": 3, "name": "f", "filename": file}]
    writer.record("dynamo_start", {"stack": stack}, c=(0, 0, 0, 0))
    metrics = {
        "co_name": "f",
        "co_filename": "/home/user/train.py",
        "co_firstlineno": 3,
        "has_guarded_code": True,
    }
    writer.record("compilation_metrics", {"m": metrics}, c=(0, 0, 0, 0))
    described = {"i": 0, "code": "abc", "is_backward": False, "is_inference": False, "cudagraphs": True}
    writer.record("inductor_output_code", {"m": {"filename": "abc.py"}}, c=(0, 0, 0, 0), payload=CODE)
    writer.record("fx_graph", {"m": described}, c=(0, 0, 0, 0))
    for rows in (16, 16, 48):
        writer.record("cudagraph_warm_up", {"m": {"mode": "forward", "compile": "0/0"}})
        m = {"function": 0, "mode": "forward", "compile": "0/0", "inputs": [[rows, 8], 3], "count": 2}
        m |= {"pool": [0, 1], "pool_bytes": rows * 1000}
        writer.record("cudagraph_record", {"m": m})
    writer.record(
        "log", {"m": {"logger": "torch._inductor.cudagraph_trees", "level": "WARNING", "text": SKIP}}
    )
    writer.record("runs", {"i": [[0, 13]]})
    writer.close()
    return build_report(open_recording(root))


def test_recordings_by_function_with_the_sizes_that_made_them(tmp_path: Path) -> None:
    (found,) = recorded(tmp_path / "run.compilescope").cudagraphs
    (function,) = found.functions
    assert (function.function, function.file, function.line, function.compile_id) == (
        "f",
        "train.py",
        3,
        "0/0",
    )
    assert (function.mode, function.recordings, found.recordings) == ("forward", 3, 3)
    assert len(function.sizes) == 2


def test_calls_that_were_neither_warm_up_nor_recording_are_replays(tmp_path: Path) -> None:
    (found,) = recorded(tmp_path / "run.compilescope").cudagraphs
    (function,) = found.functions
    assert (function.warm_ups, function.recordings, function.replays) == (3, 3, 13 - 6)
    assert (function.pool_growth_bytes, found.pool_bytes) == (48_000, 48_000)


def test_a_skip_names_the_line(tmp_path: Path) -> None:
    (found,) = recorded(tmp_path / "run.compilescope").cudagraphs
    (skip,) = found.skips
    assert (skip.file, skip.line, skip.count) == ("train.py", 9, 1)
    assert skip.reason.startswith("mutated inputs")
